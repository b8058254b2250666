import Cairn
import CairnDisk
import TestSupport

/// Writes what a version leaves on a disk and in a folder: a root with datastores of every kind of
/// content and file, a root with a local one, and the folder that two devices share. Each later
/// version adds its own beside those of the versions before it (`CAIRN_WRITE_GOLDEN=1`), and opens
/// all of them for ever.
struct FixtureWriter {
  private let clock = ManualClock(1_750_000_000_000)
  private let disk: MemoryDisk
  private let random = SeededRandom(20_260)

  init() { disk = MemoryDisk(clock: clock) }

  private func manager(_ root: String, user: String) -> DatastoreManager {
    let machine = Machine(disk: disk, clock: clock, random: random)
    var options = Options()
    options.compactsAutomatically = false
    options.graceSeconds = 0
    return DatastoreManager(
      root: root, account: Account(user: user, folder: .directory("/folder")),
      folder: { DirectoryFolder("/folder", machine: machine) }, options: options,
      machine: machine)
  }

  /// All files by path, beneath `/root`, `/local` and `/folder`.
  func files() async throws -> [(path: String, bytes: [UInt8])] {
    try writeLocal()
    let (own, other) = (manager("/root", user: "ann"), manager("/other", user: "bob"))
    let notes = try own.openOrCreateDatastore("notes")
    try writeValues(notes)
    try await notes.exchange()
    let theirs = try other.openOrCreateDatastore("notes")
    for _ in 0..<2 {
      try await theirs.exchange()
      try theirs.sync()
    }
    try await writeConflicts(notes, theirs)
    try writeOnce(notes)
    let shared = try own.createDatastore()
    try shared.setRole(.viewer, for: .publicAccess)
    try shared.table("s").insert(["shared": true], id: "one")
    try shared.sync()
    try await shared.exchange()
    try await own.refresh()
    // Something that was fetched and not taken yet stays in the inbox.
    clock.advance(by: 1000)
    try theirs.table("t").insert(["late": true], id: "late")
    try theirs.sync()
    try await theirs.exchange()
    try await notes.exchange()
    for datastore in [notes, shared, theirs] { try datastore.close() }
    // An id that was deleted and created again has a generation.
    try write(try own.openOrCreateDatastore("gone"), "before")
    try own.deleteDatastore("gone")
    clock.advance(by: 1)
    try write(try own.openOrCreateDatastore("gone"), "after")
    try await own.refresh()
    try own.shutDown()
    try other.shutDown()
    return disk.paths().filter { !$0.hasPrefix("/other/") && !$0.hasSuffix("LOCK") }.map {
      ($0, disk.bytes($0) ?? [])
    }
  }

  private func write(_ datastore: Datastore, _ id: RecordID) throws {
    try datastore.table("t").insert(["a": 1], id: id)
    try datastore.sync()
    try datastore.close()
  }

  private func writeLocal() throws {
    let machine = Machine(disk: disk, clock: clock, random: random)
    var options = Options()
    options.compactsAutomatically = false
    let local = DatastoreManager(
      root: "/local", account: nil, folder: nil, options: options, machine: machine)
    let datastore = try local.openDefaultDatastore()
    try datastore.setTitle("Only here")
    for number in 0..<40 {
      try datastore.table("t").insert(
        ["n": .int(Int64(number)), "s": .string("text \(number)")], id: RecordID("r\(number)"))
    }
    try datastore.sync()
    try datastore.compact()
    try datastore.table("t")["r7"].delete()
    try datastore.sync()
    try local.shutDown()
  }

  private func writeValues(_ notes: Datastore) throws {
    let table = try notes.table("t")
    try notes.setTitle("Notes \u{00FC}\u{1F426}")
    try table.setRule(.sum, field: "sum")
    try table.setRule(.max, field: "max")
    try notes.setDefaultRule(.local)
    try table.insert(
      fields: [
        "bool": true, "int": -7, "big": .int(.max), "decimal": 12.25, "double": .double(1e300),
        "infinite": .double(-.infinity), "text": "some text, caf\u{00E9}", "empty": "",
        "bytes": .bytes([0, 1, 255]), "sum": 10, "max": 1,
        "date": .date(Timestamp(millisecondsSince1970: 1_700_000_000_123)),
        "list": [1, 2.5, "three", .bytes([4]), true],
      ], id: "values")
    try table.insert([:], id: "empty")
    try table.insert(["gone": 1], id: "deleted")
    try notes.sync()
    let list = try table["values"].list("edited")
    for item in ["one", "two", "three", "four"] { try list.append(.string(item)) }
    try list.move(from: 0, to: 2)
    try list.remove(at: 3)
    try table["deleted"].delete()
    for number in 0..<60 {
      try notes.table("rows").insert(
        ["n": .int(Int64(number)), "half": .double(Double(number) / 2), "same": "the same text"],
        id: RecordID("row-\(number)"))
    }
    try notes.sync()
    try notes.compact()
    clock.advance(by: 1000)
    try table["values"].set("int", 8)
    try notes.sync()
  }

  private func writeConflicts(_ notes: Datastore, _ theirs: Datastore) async throws {
    for (datastore, name) in [(notes, "ann"), (theirs, "bob")] {
      clock.advance(by: 1000)
      let record = try datastore.table("t")["values"]
      try record.set("by", .string(name))
      try record.set("sum", .int(try record.int("sum").map { $0 + 5 } ?? 0))
      try record.set("max", .int(name == "ann" ? 5 : 9))
      try record.list("edited").append(.string(name))
      try datastore.table("t").insert([:], id: RecordID(name))
      try datastore.sync()
    }
    for _ in 0..<2 {
      for datastore in [notes, theirs] {
        try await datastore.exchange()
        try datastore.sync()
      }
    }
  }

  /// What only the log has.
  private func writeOnce(_ notes: Datastore) throws {
    clock.advance(by: 1000)
    try notes.table("t").insert(["unpublished": true], id: "newest")
    try notes.sync()
  }
}
