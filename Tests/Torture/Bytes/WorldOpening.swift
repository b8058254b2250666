import Cairn
import CairnBytes
import CairnFuzzEntries
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// Opens whole datastores with one file spoilt and reads everything that they show.
struct WorldOpening {
  let world: SampleWorld
  let files: [SpoiltFile]
  /// The paths of those that are spoilt. What is done to one is the same whichever these are.
  let chosen: Set<String>
  let opens: Int
  let seed: UInt64

  func run(_ ledger: inout Ledger) async throws {
    let total = files.reduce(0) { $0 + $1.whole.count }
    if total == 0 { return }
    for file in spoilt {
      Culprit.begin(file.path)
      let random = SeededRandom(XXH3.hash64(file.path, seed: seed))
      let other = Mutation.others(file.whole, frames: file.frameRanges)
      // By the square root, so that small files have their share.
      let count = max(isShort ? 6 : 24, opens * file.whole.count / total)
      for number in 0..<count {
        let mutation =
          number % 4 == 3
          ? other[random.below(other.count)] : Mutation.flip(random.below(file.whole.count * 8))
        try await open(file, mutation.applied(file.whole), "\(mutation)", mutation, &ledger)
      }
    }
    try await swapped(&ledger)
  }

  private var spoilt: [SpoiltFile] {
    files.filter { chosen.contains($0.path) && !$0.path.hasPrefix("/moving") }
  }

  /// Some of each, rather than all.
  private var isShort: Bool { opens < 2_000 }

  /// Each file in another's place, and the files of another world in those of this one.
  private func swapped(_ ledger: inout Ledger) async throws {
    let other = try await SampleWorld.make(seed: seed &+ 1)
    for file in spoilt {
      Culprit.begin(file.path)
      let twins = files.filter { $0.kind == file.kind && $0.path != file.path }
      let start = Int(seed % UInt64(max(1, twins.count)))
      for twin in isShort ? (twins[start...] + twins[..<start]).prefix(3) : twins[...] {
        let what = "the bytes of \(twin.path)"
        try await open(file, twin.whole, what, nil, &ledger)
        ledger.took("file of another place")
      }
      if let foreign = other.disk.bytes(file.path), foreign != file.whole {
        try await open(file, foreign, "the bytes of another world", nil, &ledger)
        ledger.took("file of another world")
      }
    }
  }

  private func open(
    _ file: SpoiltFile, _ bytes: [UInt8], _ what: String, _ mutation: Mutation?,
    _ ledger: inout Ledger
  ) async throws {
    if bytes == file.whole { return }
    if let mutation { Culprit.note(mutation) }
    Culprit.progress()
    let disk = world.disk.snapshot()
    try disk.setBytes(file.path, bytes)
    ledger.count("opens")
    do {
      let outcome: String
      if file.path.hasPrefix(SampleWorld.storeDirectory) {
        outcome = try store(disk, file, bytes)
      } else if file.path.hasPrefix(SampleWorld.accounts) {
        outcome = try accounts(disk)
      } else {
        outcome = try await account(disk, file)
      }
      ledger.count("opens \(outcome)")
      guard disk.openFiles == 0, disk.heldLocks == 0 else {
        throw TortureFailure("\(disk.openFiles) files and \(disk.heldLocks) locks are left")
      }
    } catch {
      throw TortureFailure(
        "\(file.path): \(what): \(error); again with: flips --seed \(seed) --opens \(opens) "
          + "--only \(file.path)")
    }
  }

  // MARK: a store

  /// What opens shows a prefix of the commits, and that is what the log's own scan promises.
  private func store(_ disk: MemoryDisk, _ file: SpoiltFile, _ bytes: [UInt8]) throws -> String {
    let store: Store
    do { store = try SampleWorld.openStore(disk) } catch {
      try check(error)
      return "refused"
    }
    defer { try? store.close() }
    var ids: Set<String> = []
    do {
      for id in try store.query(table: "t", []) {
        ids.insert(id.text)
        let fields = try store.fields(table: "t", id: id) ?? []
        guard SampleWorld.isRight(id.text, fields) else {
          throw TortureFailure("record \(id.text) shows \(fields.count) other fields")
        }
      }
    } catch let error as StoreError {
      try check(error)
      return "refused"
    }
    let expected = (0..<ids.count).map(SampleWorld.storeID)
    guard ids == Set(expected) else { throw TortureFailure("\(ids.count) records with a hole") }
    let lost = SampleWorld.storeCommits - ids.count
    if lost == 0 { return store.recovery.isEmpty ? "whole" : "whole with a note" }
    let isLast = world.disk.paths().last { $0.hasPrefix("/store/log/") } == file.path
    let scan = try? SegmentScan(bytes, path: file.path)
    let whole = try SegmentScan(file.whole, path: file.path)
    // Without a header nothing is known to have been there.
    let left = scan?.frames.count ?? 0
    guard isLast, lost == whole.frames.count - left else {
      throw TortureFailure("\(lost) records are gone")
    }
    return "shorter"
  }

  private func check(_ error: StoreError) throws {
    guard error.kind == .log, let log = error.log, !log.path.isEmpty, !log.detail.isEmpty else {
      throw TortureFailure("an error without a place: \(error)")
    }
  }

  private func check(_ error: CairnError) throws {
    guard !error.message.isEmpty, error.code != .internal else {
      throw TortureFailure("no good error: \(error)")
    }
  }

  // MARK: accounts

  private func accounts(_ disk: MemoryDisk) throws -> String {
    let account: LinkedAccount?
    let credentials: Credentials?
    do throws(CairnError) {
      let manager = try SampleWorld.accountManager(disk)
      account = try manager.linkedAccount
      credentials = try account?.credentials()
    } catch {
      try check(error)
      return "refused"
    }
    guard account != nil else { throw TortureFailure("the account is unlinked") }
    guard let credentials else { return "refused" }
    guard credentials == .password(user: "ann", password: "rabbit") else {
      throw TortureFailure("other credentials: \(credentials.kind.rawValue)")
    }
    return "whole"
  }

  // MARK: an account's datastores

  /// The device that was there, then a new one: what they show is right, and what is missing has a
  /// reason that is reported.
  private func account(_ disk: MemoryDisk, _ file: SpoiltFile) async throws -> String {
    let isHome = !file.path.hasPrefix(SampleWorld.folder)
    // The others stand on files of their own, but for the account's.
    let hasOthers = !file.path.contains("/p-notes/")
    let own = try await show(disk, "/a", seed: 21, rounds: 8, hasOthers: hasOthers)
    let fresh = try await show(disk, "/new", seed: 22, rounds: 2, hasOthers: hasOthers)
    if let ids = own.ids {
      let mine = ids.filter { $0.hasPrefix("a") }.count
      // What the log's last frames held was never anywhere else.
      let least = file.path.hasPrefix("/a/p-notes/log") ? 15 : 17
      guard mine >= least else { throw TortureFailure("\(17 - mine) own records are gone") }
      let others = WorldOpening.countOthers(ids)
      guard others == 17 || own.hasComplaints else {
        throw TortureFailure("\(17 - others) records of another device are gone without a word")
      }
    }
    if let ids = fresh.ids, ids.count < 32, !fresh.hasComplaints, !isHome {
      throw TortureFailure("a new device shows \(ids.count) records and misses nothing")
    }
    if own.ids == nil || fresh.ids == nil { return "refused" }
    return own.hasComplaints || fresh.hasComplaints ? "reported" : "whole"
  }

  /// Those that are there besides: each shows its records, or says why not.
  private func showOthers(_ manager: DatastoreManager, _ shown: inout Shown) async throws {
    let known = try manager.listDatastores().map(\.id)
    for id in SampleWorld.others where known.contains(id) {
      do {
        let datastore = try manager.openOrCreateDatastore(id)
        _ = try datastore.sync()
        let report = try await datastore.exchange()
        _ = try datastore.sync()
        shown.hasComplaints =
          shown.hasComplaints || !report.waiting.isEmpty || !report.problems.isEmpty
        for record in try datastore.table("t").query() {
          guard SampleWorld.isRight(record.id.description, try record.fields) else {
            throw TortureFailure("record \(record.id) of \(id) shows other fields")
          }
        }
        for record in try datastore.trash.list() {
          guard SampleWorld.isRight(record.id.description, record.fields) else {
            throw TortureFailure("record \(record.id) in the trash has other fields")
          }
        }
        try datastore.close()
      } catch let error as CairnError {
        try check(error)
        shown.hasComplaints = true
      }
    }
  }

  private struct Shown {
    /// nil if it can't be opened.
    var ids: Set<String>?
    var hasComplaints = false
  }

  /// Of the other device's 17.
  private static func countOthers(_ ids: Set<String>) -> Int {
    ids.filter { $0.hasPrefix("b") }.count
  }

  private func ids(_ datastore: Datastore, _ root: String) throws -> Set<String> {
    var ids: Set<String> = []
    for record in try datastore.table("t").query() {
      let id = record.id.description
      guard SampleWorld.isRight(id, try record.fields) else {
        throw TortureFailure("record \(id) of \(root) shows other fields")
      }
      ids.insert(id)
    }
    return ids
  }

  /// Two rounds, and up to so many as long as something is missing without a word: what takes
  /// longer than two is not lost.
  private func show(
    _ disk: MemoryDisk, _ root: String, seed: UInt64, rounds: Int, hasOthers: Bool
  ) async throws -> Shown {
    var shown = Shown()
    let manager = SampleWorld.manager(disk, root, seed: seed)
    do {
      let datastore = try manager.openOrCreateDatastore("notes")
      _ = try datastore.sync()
      for round in 0..<rounds {
        if round > 1 {
          if shown.hasComplaints { break }
          if Self.countOthers(try ids(datastore, root)) == 17 { break }
        }
        do {
          let report = try await datastore.exchange()
          shown.hasComplaints =
            shown.hasComplaints || !report.waiting.isEmpty || !report.problems.isEmpty
        } catch {
          try check(error)
          shown.hasComplaints = true
        }
        _ = try datastore.sync()
      }
      shown.ids = try ids(datastore, root)
      if hasOthers { try await showOthers(manager, &shown) }
      do {
        let list = try await manager.refresh()
        shown.hasComplaints = shown.hasComplaints || !list.problems.isEmpty
      } catch {
        try check(error)
        shown.hasComplaints = true
      }
      _ = try manager.listDatastores()
    } catch let error as CairnError {
      try check(error)
    }
    // Whatever could not be closed in order is none of this programme's findings.
    try? manager.shutDown()
    return shown
  }
}
