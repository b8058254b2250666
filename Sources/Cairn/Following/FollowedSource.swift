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
  let catalogue: FollowedCatalogue
  private let machine: Machine
  private let state: Lock<State>

  private struct State {
    var file: FollowFile
    /// The copy is closed, or about to be: the note is whoever's that opens it next.
    var isOver = false
  }

  private let quarantine: Quarantine

  init(_ file: FollowFile, root: String, tables: TableChoice, machine: Machine) {
    self.root = root
    self.tables = tables
    self.machine = machine
    state = Lock(State(file: file))
    let directory = root + "/" + FileName.followed + "/" + FileName.quarantine
    quarantine = Quarantine(directory: directory, machine: machine)
    catalogue = FollowedCatalogue(quarantine: quarantine)
  }

  var file: FollowFile { state.withLock { $0.file } }

  /// The directory of its copy at home.
  var directory: String { root + "/" + FileName.followed }

  /// The copy has other tables than those that are wanted, or may have: it has to be put together
  /// anew.
  var mustRebuild: Bool { file.isInDoubt }

  /// Writes down what is wanted before anything is done for it, so that it holds from then on,
  /// whatever happens. A copy that has something stays in doubt until it was put together anew,
  /// even if the choice goes back to what it was: the switch may have been done meanwhile.
  func begin(isBlank: Bool) throws(CairnError) {
    if file.tables != tables {
      // What was put together for another choice is not gone on with.
      do throws(DiskError) {
        try machine.disk.removeTree(directory + "/" + FileName.rejoining)
        // Files that were put aside may have tables that are left out now.
        if tables != .all { try quarantine.keepReasonsOnly() }
      } catch { throw CairnError(error) }
    }
    try change { file in
      file.isInDoubt = !isBlank && (file.isInDoubt || file.tables != tables)
      file.tables = tables
    }
  }

  /// The copy has just these tables now. If that can't be written, it stays in doubt at home, and
  /// the next process puts it together once more.
  func noteRebuilt() {
    do throws(CairnError) { try change { $0.isInDoubt = false } } catch {
      state.withLock { $0.file.isInDoubt = false }
    }
  }

  /// The folder's identity is another one, and the folder is the same. If that can't be written,
  /// it is found out again.
  func noteFolder(_ identity: UInt128) {
    do throws(CairnError) { try change { $0.folder = identity } } catch {}
  }

  /// Nothing is written any more.
  func end() { state.withLock { $0.isOver = true } }

  /// Under the lock, so that what was written last is what is so.
  private func change(_ body: (inout FollowFile) -> Void) throws(CairnError) {
    try state.withLock { state throws(CairnError) in
      var new = state.file
      body(&new)
      if new == state.file || state.isOver { return }
      try new.write(root, machine)
      state.file = new
    }
  }
}
