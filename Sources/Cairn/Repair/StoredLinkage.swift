internal import CairnDisk
internal import CairnLog
internal import CairnMerge

/// Whether a datastore belongs to an account, as its own files have it. Whoever looks at them may
/// take it for something else: a command that was given no folder, or one too many.
enum StoredLinkage {
  /// As CURRENT says it. Where that is lost, what is only there once something was exchanged tells:
  /// without any of it there is nothing that others could have, so it counts as a local one.
  ///
  /// - Throws: `needsNewerVersion`, errors of the disk.
  static func isLinked(
    _ directory: String, datastore: UInt128, disk: any Disk
  ) throws(LogError) -> Bool {
    let path = directory + "/" + FileName.current
    do throws(LogError) {
      if let bytes = try DurableFile.read(path, limit: 4096, disk: disk) {
        let current = try CurrentFile(bytes, path: path)
        if current.datastore == datastore { return current.isLinked }
      }
    } catch {
      switch error.reason {
      case .needsNewerVersion, .disk: throw error
      default: break
      }
    }
    if try hasExchanged(directory, disk: disk) { return true }
    do throws(CairnError) {
      // A new one is in the account's list before its first exchange.
      return try InfoFile.read(directory, disk: disk)?.published != nil
    } catch {
      // Lists only need it, and what else there is has told already.
      return false
    }
  }

  /// Whether there is anything that only an exchange with a folder leaves behind.
  static func hasExchanged(_ directory: String, disk: any Disk) throws(LogError) -> Bool {
    do throws(DiskError) {
      for name in [FileName.publication, FileName.chains, FileName.inbox]
      where try disk.info(directory + "/" + name) != nil {
        return true
      }
      return false
    } catch { throw LogError(error) }
  }

  /// The same, as an app is told.
  static func wasExchanged(_ directory: String, disk: any Disk) throws(CairnError) -> Bool {
    do throws(LogError) { return try hasExchanged(directory, disk: disk) } catch {
      throw CairnError(error)
    }
  }

  /// Whether the datastore's directory in a folder has a file of one of these devices. Ids of
  /// devices are drawn by lot: another folder has none of them.
  static func hasFile(
    of devices: Set<DeviceID>, in folder: any Folder, _ directory: String
  ) async throws(CairnError) -> Bool {
    try await folder.list(directory).contains { entry in
      let device = FileName.headDevice(entry.name) ?? FileName.published(entry.name)?.device
      return device.map { devices.contains(DeviceID(rawValue: $0)) } ?? false
    }
  }
}
