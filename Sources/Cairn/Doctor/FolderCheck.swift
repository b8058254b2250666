internal import CairnDisk
internal import CairnLog
internal import CairnMerge

/// The shared folder: there, readable, and the one that everything was exchanged with.
enum FolderCheck {
  static let name = "folder"

  /// The findings, and whether the folder can be looked into any further.
  static func run(_ root: ExaminedRoot) async -> (findings: [Finding], isUsable: Bool) {
    guard let folder = root.folder else { return ([], false) }
    let file = FileName.folderIdentity
    let known = knownIdentities(root)
    let untold = known.isEmpty ? exchanged(root) : []
    do throws(CairnError) {
      guard let bytes = try await folder.read(file, limit: FolderIdentity.bytesMax) else {
        if known.isEmpty, untold.isEmpty { return ([], true) }
        return (
          [
            finding(
              root, "it is empty, not there, or not the one that the datastores were exchanged "
                + "with (\(file) is missing). Mount it, wait for it, or choose the right one: "
                + "nothing is deleted meanwhile")
          ], false
        )
      }
      let identity: UInt128
      do { identity = try FolderIdentity.decode(bytes, path: file) } catch {
        let isHalf = error.reason == .corrupt && FolderIdentity.isHalf(bytes)
        return ([isHalf ? half(root, bytes) : finding(root, "\(error)")], false)
      }
      let others = known.filter { $0.identity != identity }
      if others.isEmpty {
        let strangers = try await strange(untold, in: folder)
        if strangers.isEmpty { return ([], true) }
        return (
          [
            finding(
              root, "it has no file of a device that \(strangers.joined(separator: ", ")) "
                + "\(strangers.count == 1 ? "knows" : "know"): it is another one than before, or "
                + "not all there yet. Choose the right folder, or wait for it")
          ], strangers.count < untold.count
        )
      }
      return (
        [
          finding(
            root, "it is another one than that which \(others.map(\.who).joined(separator: ", ")) "
              + "\(others.count == 1 ? "was" : "were") exchanged with. Choose the right folder, or "
              + "link the account anew")
        ], others.count < known.count
      )
    } catch {
      return ([finding(root, "it can't be read: \(error.message)")], false)
    }
  }

  /// Nothing but the beginning of the file, be it on its way or cut off.
  private static func half(_ root: ExaminedRoot, _ bytes: [UInt8]) -> Finding {
    let datastore = root.datastores().first { !$0.isFollowed && !$0.isOver }
    var result = finding(
      root, "\(FileName.folderIdentity) is not wholly there (\(bytes.count) bytes): it is still on "
        + "its way, or was cut off. The next exchange of a device that has used this folder before "
        + "writes it again")
    result.severity = .warning
    result.command = datastore?.sync
    return result
  }

  private static func finding(_ root: ExaminedRoot, _ message: String) -> Finding {
    let path = root.account?.folder.text ?? "the shared folder"
    return Finding(
      check: name, severity: .error, message: "\(path): \(message)",
      file: path + "/" + FileName.folderIdentity)
  }

  /// The folders that the root and its datastores know.
  private static func knownIdentities(
    _ root: ExaminedRoot
  ) -> [(who: String, identity: UInt128)] {
    var result: [(who: String, identity: UInt128)] = []
    if let folder = root.installation?.folder, folder != 0 {
      result.append(("the list of datastores", folder))
    }
    if let following = root.following { result.append((following.id, following.folder)) }
    for datastore in root.datastores() {
      // A damaged one is another check's.
      let found = PublicationFile.readable(datastore.directory, disk: root.disk)
      guard let publication = found, publication.folder != 0 else { continue }
      result.append((datastore.id, publication.folder))
    }
    return result
  }

  /// Datastores that were exchanged with a folder of which nothing tells the identity any more.
  private static func exchanged(_ root: ExaminedRoot) -> [ExaminedDatastore] {
    var result: [ExaminedDatastore] = []
    for datastore in root.datastores() where !datastore.isFollowed && !datastore.isOver {
      do throws(LogError) {
        if try StoredLinkage.hasExchanged(datastore.directory, disk: root.disk) {
          result.append(datastore)
        }
      } catch {
        // What can't be looked at is another check's.
      }
    }
    return result
  }

  /// The ids of those of which the folder has no file of a device that they know.
  private static func strange(
    _ datastores: [ExaminedDatastore], in folder: any Folder
  ) async throws(CairnError) -> [String] {
    var result: [String] = []
    for datastore in datastores {
      var copy = datastore
      _ = CurrentCheck.run(&copy)
      let histories = Exchange.readHistories(datastore.directory, datastore.root.machine)
      var devices = Set(histories.marks.keys)
      if let current = copy.current { devices.insert(DeviceID(rawValue: current.device)) }
      if devices.isEmpty { continue }
      let isMet = try await StoredLinkage.hasFile(of: devices, in: folder, datastore.name)
      if !isMet { result.append(datastore.id) }
    }
    return result
  }
}
