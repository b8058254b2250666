internal import CairnDisk
internal import CairnLog
internal import CairnStore

extension DatastoreManager {
  /// A copy of a generation that is over, of which nothing was ever exchanged, has what nobody can
  /// have meant to delete: what a new device wrote before it first heard of the account's others.
  /// It becomes a part of the datastore's present generation. Returns false if it is no such copy.
  func rescue(_ copy: Copy, generation: UInt32) throws(CairnError) -> Bool {
    let published = root + "/" + copy.directory + "/" + FileName.publication
    do throws(DiskError) {
      if try machine.disk.info(published) != nil { return false }
    } catch { throw CairnError(error) }
    // Opening is locked out meanwhile.
    return try locked { (state: inout State) throws(CairnError) in
      if state.open[copy.id]?.isOpen == true { return false }
      guard try MigrationJournal.read(root, disk: machine.disk) == nil else { return false }
      let source: Store
      do throws(CairnError) { source = try self.source(copy) } catch {
        if error.code == .alreadyOpen || error.code == .corrupt { return false }
        throw error
      }
      let isRescued: Bool
      do throws(CairnError) {
        isRescued = try prepare(source, copy, generation)
      } catch {
        do throws(StoreError) { try source.close() } catch {}
        throw error
      }
      try wrapped { () throws(StoreError) in try source.close() }
      if isRescued { try settleMigration() }
      return isRescued
    }
  }

  private func prepare(
    _ source: Store, _ copy: Copy, _ generation: UInt32
  ) throws(CairnError) -> Bool {
    guard source.isOwnOnly, !source.isBlank else { return false }
    let name = FileName.directory(datastore: copy.id, generation: generation)
    let lock = try lockPlace(name, id: copy.id)
    defer { lock?.unlock() }
    let token = machine.random.next()
    let staging = MigrationStaging(root: root, token: token, machine: machine)
    do throws(CairnError) {
      _ = try staging.stage(source, id: copy.id, generation: generation)
      let item = MigrationJournal.Item(directory: name, source: copy.directory)
      try MigrationJournal(
        flags: MigrationJournal.flagTarget, token: token, other: "", items: [item]
      ).write(root, machine: machine)
    } catch {
      do throws(CairnError) { try staging.discard() } catch {}
      throw error
    }
    return true
  }
}
