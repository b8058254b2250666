internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What a follower knows of the datastore that it follows, and what it wants of it.
final class FollowedSource: Sendable {
  let root: String
  /// The tables that are to be kept.
  let tables: TableChoice
  let catalogue = FollowedCatalogue()
  private let machine: Machine
  private let state: Lock<FollowFile>

  init(_ file: FollowFile, root: String, tables: TableChoice, machine: Machine) {
    self.root = root
    self.tables = tables
    self.machine = machine
    state = Lock(file)
  }

  var file: FollowFile { state.withLock { $0 } }

  /// The directory of its copy at home.
  var directory: String { root + "/" + FileName.followed }

  /// The copy has other tables than those that are wanted: it has to be put together anew.
  var mustRebuild: Bool { file.tables != tables }

  /// The copy has just these tables now, or nothing at all yet. If that can't be written, the next
  /// process puts it together once more.
  func noteRebuilt() {
    change { $0.tables = tables }
  }

  /// The folder's identity is another one, and the folder is the same.
  func noteFolder(_ identity: UInt128) {
    change { $0.folder = identity }
  }

  private func change(_ body: (inout FollowFile) -> Void) {
    let changed = state.withLock { file -> FollowFile? in
      let before = file
      body(&file)
      return file == before ? nil : file
    }
    guard let changed else { return }
    do throws(CairnError) { try changed.write(root, machine) } catch {}
  }
}
