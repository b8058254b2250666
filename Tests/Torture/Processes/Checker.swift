import Cairn
import CairnDisk

/// What a check came across that is not wrong.
struct Finding {
  /// What opening mended.
  var notes: [String] = []
  /// There was no datastore yet.
  var isUnborn = false
  /// What this device is called in the datastore.
  var device = ""
}

/// Checks a datastore after whatever befell its writer.
struct Checker {
  let place: StorePlace
  /// What the writers wrote; the first is the one whose device this is.
  let contents: [Content]

  init(place: StorePlace, contents: [Content]) {
    self.place = place
    self.contents = contents
  }

  /// Everything in the files is whole; opening gives all that was acknowledged, at most one commit
  /// more, and nothing else; opening again gives the same. Returns how many commits of each writer
  /// are there.
  func check(
    acked: Int, atMost: Int? = nil, _ finding: inout Finding
  ) throws -> [Int] {
    try verify(&finding)
    let standing = try open(&finding)
    if finding.isUnborn, acked > 0 {
      throw TortureFailure("the datastore is gone, and \(acked) commits were acknowledged")
    }
    guard standing[0] >= acked else {
      throw TortureFailure("lost: \(acked) commits were acknowledged, \(standing[0]) are there")
    }
    guard standing[0] <= atMost ?? (acked + 1) else {
      throw TortureFailure("\(standing[0]) commits are there, \(acked) were acknowledged")
    }
    // What was mended stays mended.
    var again = Finding()
    guard try open(&again) == standing, again.device == finding.device else {
      throw TortureFailure("another open shows others")
    }
    guard again.notes.isEmpty else { throw TortureFailure("mended twice: \(again.notes)") }
    return standing
  }

  /// Every byte of the files as they lie there.
  func verify(_ finding: inout Finding) throws {
    let inspector: DatastoreInspector
    do throws(CairnError) {
      inspector = try DatastoreInspector(root: place.root, id: place.id)
    } catch {
      guard error.code == .notFound else { throw error }
      finding.isUnborn = true
      return
    }
    defer { inspector.close() }
    let damage = try inspector.verify().problems.filter(\.isDamage)
    guard damage.isEmpty else {
      throw TortureFailure(
        "damaged: " + damage.map { "\($0.file) at \($0.offset ?? 0): \($0.message)" }
          .joined(separator: "; "))
    }
  }

  /// Opens, compares everything, closes.
  private func open(_ finding: inout Finding) throws -> [Int] {
    let datastore = try place.open()
    finding.notes += datastore.recoveryNotes
    finding.device = datastore.device
    do {
      let standing = try contents.map { try $0.check(datastore) }
      try datastore.close()
      return standing
    } catch {
      // The first error says more.
      try? datastore.close()
      throw error
    }
  }

  /// After a compaction there is one snapshot, at most two segments (of a local datastore), and
  /// nothing under a temporary name.
  func checkFiles() throws {
    let datastore = try place.open()
    do throws(CairnError) { try datastore.compact() } catch {
      // The first error says more.
      try? datastore.close()
      throw error
    }
    try datastore.close()
    let files = TextFile.files(below: place.root)
    let temporary = files.filter { $0.hasSuffix(".tmp") }
    guard temporary.isEmpty else { throw TortureFailure("left behind: \(temporary)") }
    let snapshots = files.filter { $0.hasPrefix(place.directory + "/snap/") }
    let segments = files.filter { $0.hasPrefix(place.directory + "/log/") }
    guard snapshots.count == 1, place.folder != nil || segments.count <= 1 else {
      throw TortureFailure("too many files after a compaction: \(snapshots + segments)")
    }
  }
}
