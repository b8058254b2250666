import Cairn
import CairnDisk
import TestSupport
import Testing

/// What becomes of pending changes when others have changed the same.
@Suite struct ObjectMergeTests {
  typealias Note = MappingBench.Note

  /// Joins the words that both sides have added, in an order that both agree on.
  static func joinTexts(_ merge: inout ObjectMerge) {
    guard merge.conflicts.contains("text"), case .string(let theirs)? = merge.remote?["text"],
      case .string(let ours)?? = merge.pending["text"]
    else { return }
    let words = Set(theirs.split(separator: " ")).union(ours.split(separator: " "))
    merge.keep("text", .string(words.sorted().joined(separator: " ")))
  }

  static let joining: ObjectMapping = .synced(Note.self, merge: joinTexts)

  /// Two devices that have one note, "w", and have changed its text apart.
  private func apart(
    _ bench: MappingBench, _ mapping: ObjectMapping = joining
  ) async throws -> (a: MappingDevice, b: MappingDevice) {
    let a = try await bench.open("a", [mapping])
    let b = try await bench.open("b", [mapping])
    try await a.insert(Note(text: "w"), "n")
    try await bench.settle([a, b])
    try await a.update("n") { $0.text = "a w" }
    try await b.update("n") { $0.text = "b w" }
    return (a, b)
  }

  @Test(arguments: [true, false])
  func `two devices with a merge of their own converge, whoever comes first`(
    aFirst: Bool
  ) async throws {
    let bench = MappingBench()
    let (a, b) = try await apart(bench)
    #expect(try await bench.settle(aFirst ? [a, b] : [b, a]))
    #expect(try a.note("n")?.text == "a b w")
    #expect(try b.note("n")?.text == "a b w")
    #expect(try a.record("n") == b.record("n"))
    #expect(a.store.outbox.pending == 0 && b.store.outbox.pending == 0)
  }

  @Test func `only the device whose changes are pending is asked, with all three values`()
    async throws
  {
    let told = Told<(String, ObjectMerge)>()
    func mapping(_ name: String) -> ObjectMapping {
      .synced(Note.self) { merge in
        told.add((name, merge))
        merge.keep("text", .string("decided by \(name)"))
      }
    }
    let bench = MappingBench()
    let a = try await bench.open("a", [mapping("a")])
    let b = try await bench.open("b", [mapping("b")])
    try await a.insert(Note(text: "w"), "n")
    try await bench.settle([a, b])
    try await a.update("n") { ($0.text, $0.stars) = ("of a", 2) }
    try await b.update("n") { ($0.text, $0.tags) = ("of b", ["b"]) }
    _ = try await a.exchange()
    let report = try await b.exchange()
    #expect(report.merges == 1 && report.changes.map(\.id) == ["n"])
    try await bench.settle([a, b])
    let (name, merge) = try #require(told.all.first)
    #expect(told.all.count == 1 && name == "b")
    #expect(merge.table == "notes" && merge.object == "n" && merge.record == "n")
    #expect(merge.route == "main" && !merge.isPendingDelete && !merge.isDeleted)
    #expect(merge.original == ["text": "w"])
    #expect(merge.remote == ["text": "of a", "stars": 2])
    #expect(merge.pending == ["text": "of b", "tags": ["b"]])
    #expect(merge.conflicts == ["text"])
    #expect(merge.stillPending == ["tags": ["b"]], "the rule: who was there first")
    let expected = Note(text: "decided by b", stars: 2, tags: ["b"])
    #expect(try a.note("n") == expected)
    #expect(try b.note("n") == expected)
  }

  @Test func `without a handler the rules decide, as if both had committed`() async throws {
    let bench = MappingBench()
    let a = try await bench.open("a")
    let b = try await bench.open("b")
    try await a.insert(Note(text: "w", stars: 10, best: 5, tags: ["1", "2", "3"]), "n")
    try await bench.settle([a, b])
    try await a.update("n") {
      ($0.text, $0.stars, $0.best, $0.tags) = ("of a", 12, 4, ["0", "1", "3"])
    }
    try await b.update("n") {
      ($0.text, $0.stars, $0.best, $0.tags) = ("of b", 7, 6, ["1", "2", "2b", "3", "4"])
    }
    try await bench.settle([a, b])
    let expected = Note(text: "of a", stars: 9, best: 6, tags: ["0", "1", "2b", "3", "4"])
    #expect(try a.note("n") == expected)
    #expect(try b.note("n") == expected)
    #expect(try a.record("n") == b.record("n"))
  }

  @Test func `what a handler keeps of other fields is uploaded, too`() async throws {
    let bench = MappingBench()
    let mapping: ObjectMapping = .synced(Note.self) { merge in
      merge.takeRemote("text")
      merge.keep("place", "merged")
    }
    let (a, b) = try await apart(bench, mapping)
    try await bench.settle([a, b])
    let expected = Note(text: "a w", place: "merged")
    #expect(try a.note("n") == expected)
    #expect(try b.note("n") == expected)
  }

  @Test func `what is pending of a list stays when others have made its record anew`()
    async throws
  {
    let bench = MappingBench()
    let (a, b) = (try await bench.open("a"), try await bench.open("b"))
    for id: RecordID in ["m", "n"] { try await a.insert(Note(text: "w", tags: ["1"]), id) }
    try await bench.settle([a, b])
    try await b.update("n") { $0.tags.append("2") }
    try await a.delete("n")
    _ = try await a.exchange()
    try await a.insert(Note(text: "w"), "n")
    _ = try await a.exchange()
    #expect(try a.record("n") == ["text": "w", "stars": 0])
    #expect(try await bench.settle([b, a]))
    for device in [a, b] { #expect(try device.note("n") == Note(text: "w", tags: ["2"])) }
  }

  @Test func `a list that is emptied is empty for others, too`() async throws {
    let bench = MappingBench()
    let (a, b) = (try await bench.open("a"), try await bench.open("b"))
    try await a.insert(Note(text: "w", tags: ["1", "2"]), "n")
    try await bench.settle([a, b])
    #expect(try b.note("n")?.tags == ["1", "2"])
    try await a.update("n") { $0.tags = [] }
    #expect(try await bench.settle([a, b]))
    for device in [a, b] { #expect(try device.note("n") == Note(text: "w")) }
  }

  // MARK: deletes

  @Test(arguments: [true, false])
  func `a record that others have deleted is gone, unless the handler keeps it`(
    keeps: Bool
  ) async throws {
    let bench = MappingBench()
    let mapping: ObjectMapping = .synced(Note.self) { merge in
      if merge.remote == nil, keeps { merge.isDeleted = false }
    }
    let a = try await bench.open("a", [mapping])
    let b = try await bench.open("b", [mapping])
    for id: RecordID in ["n", "m", "o"] { try await a.insert(Note(text: "w", stars: 1), id) }
    try await bench.settle([a, b])
    try await a.delete("n")
    try await b.update("n") { $0.text = "still wanted" }
    try await bench.settle([a, b])
    let expected = keeps ? Note(text: "still wanted", stars: 1) : nil
    #expect(try a.note("n") == expected)
    #expect(try b.note("n") == expected)
  }

  @Test func `records that a handler keeps are inserted in sets that can be uploaded`()
    async throws
  {
    let bench = MappingBench()
    bench.options.limits.deltaBytes = 8000
    let mapping: ObjectMapping = .synced(Note.self) { merge in
      if merge.remote == nil { merge.isDeleted = false }
    }
    let a = try await bench.open("a", [mapping])
    let b = try await bench.open("b", [mapping])
    let (text, ids) = (String(repeating: "x", count: 4000), ["m", "n", "o"] as [RecordID])
    for id in ids { try await a.insert(Note(text: text), id) }
    try await bench.settle([a, b])
    for id in ids {
      try await a.delete(id)
      try await b.update(id) { $0.best = 1 }
    }
    #expect(try await bench.settle([a, b]))
    for device in [a, b] {
      for id in ids { #expect(try device.note(id) == Note(text: text, best: 1)) }
    }
  }

  @Test(arguments: [true, false])
  func `a pending delete stays, unless the handler takes it back`(restores: Bool) async throws {
    let bench = MappingBench()
    let told = Told<ObjectMerge>()
    let mapping: ObjectMapping = .synced(Note.self) { merge in
      told.add(merge)
      if merge.isPendingDelete, restores {
        merge.isDeleted = false
        merge.keep("stars", 7)
      }
    }
    let a = try await bench.open("a", [mapping])
    let b = try await bench.open("b", [mapping])
    for id: RecordID in ["n", "m", "o"] { try await a.insert(Note(text: "w"), id) }
    try await bench.settle([a, b])
    try await a.update("n") { $0.text = "changed" }
    try await b.delete("n")
    try await bench.settle([a, b])
    #expect(told.all.first?.isPendingDelete == true && told.all.count == 1)
    #expect(told.all.first?.original == ["text": "w", "stars": 0])
    let expected = restores ? Note(text: "changed", stars: 7) : nil
    #expect(try a.note("n") == expected)
    #expect(try b.note("n") == expected)
  }

  // MARK: at the same moment

  /// What a sync engine makes of two folders: all files, and of the heads each device's own.
  private func mergeFolders(_ bench: MappingBench, _ a: MappingDevice, _ b: MappingDevice) throws {
    let folders = [bench.folder("of a"), bench.folder("of b")]
    let heads = [try a.main.device + ".head", try b.main.device + ".head"]
    for (from, to) in [(0, 1), (1, 0)] {
      for path in folders[from].paths() {
        guard folders[to].bytes(path) == nil || path.hasSuffix(heads[from]) else { continue }
        try folders[to].setBytes(path, try #require(folders[from].bytes(path)))
      }
    }
  }

  /// Two devices with a folder each that know of one another, and both have the note "n".
  private func withFolderEach(
    _ bench: MappingBench, _ mapping: ObjectMapping
  ) async throws -> (MappingDevice, MappingDevice) {
    let a = try await bench.open("a", [mapping], account: "of a")
    try await a.insert(Note(text: "w"), "n")
    _ = try await a.exchange()
    bench.use(bench.folder("of a").snapshot(), folder: "of b")
    let b = try await bench.open("b", [mapping], account: "of b")
    for _ in 0..<2 {
      _ = try await b.exchange()
      try mergeFolders(bench, a, b)
      _ = try await a.exchange()
      try mergeFolders(bench, a, b)
    }
    return (a, b)
  }

  /// Two devices with a folder each that have published a change of one field, none knowing of the
  /// other's.
  private func publishAtOnce(
    _ bench: MappingBench, _ told: Told<ObjectMerge>
  ) async throws -> (MappingDevice, MappingDevice, ObjectMapping) {
    let mapping: ObjectMapping = .synced(Note.self) { merge in
      told.add(merge)
      ObjectMergeTests.joinTexts(&merge)
    }
    let (a, b) = try await withFolderEach(bench, mapping)
    try await a.update("n") { $0.text = "a w" }
    _ = try await a.exchange()
    try await b.update("n") { $0.text = "b w" }
    _ = try await b.exchange()
    return (a, b, mapping)
  }

  @Test func `of two that publish at the same moment the one that lost is asked`() async throws {
    let (bench, told) = (MappingBench(), Told<ObjectMerge>())
    let (a, b, _) = try await publishAtOnce(bench, told)
    #expect(a.store.outbox.pending == 0 && b.store.outbox.pending == 0, "both have published")
    #expect(told.all.isEmpty)
    for _ in 0..<4 {
      try mergeFolders(bench, a, b)
      _ = try await a.exchange()
      _ = try await b.exchange()
    }
    #expect(try a.note("n")?.text == "a b w")
    #expect(try b.note("n")?.text == "a b w")
    #expect(try a.record("n") == b.record("n"))
    let merge = try #require(told.all.first)
    #expect(told.all.count == 1)
    #expect(merge.original == ["text": "w"])
    #expect(merge.remote?["text"] == "a w" && merge.pending == ["text": "b w"])
    #expect(merge.conflicts == ["text"] && merge.stillPending.isEmpty, "the rule has decided")
  }

  @Test(arguments: [false, true])
  func `what is put into an empty list of an object that both have inserted is there`(
    isUploadedBefore: Bool
  ) async throws {
    let bench = MappingBench()
    let (a, b) = try await withFolderEach(bench, MappingBench.note)
    for device in [a, b] { try await device.insert(Note(text: "w"), "both") }
    if isUploadedBefore { _ = try await b.exchange() }
    try await b.update("both") { $0.tags.append("x") }
    for device in [a, b] { _ = try await device.exchange() }
    for _ in 0..<4 {
      try mergeFolders(bench, a, b)
      for device in [a, b] { _ = try await device.exchange() }
    }
    for device in [a, b] {
      #expect(try device.note("both") == Note(text: "w", tags: ["x"]))
      #expect(device.store.outbox == OutboxStatus())
    }
    #expect(try a.record("both") == b.record("both"))
  }

  /// What happens on a device between its upload and the round that has to ask its handler.
  enum Meanwhile: CaseIterable { case nothing, relaunch, directSync, directSyncAndFold }

  @Test(arguments: Meanwhile.allCases)
  func `it is asked also if the other one has answered already, or it missed how that came`(
    meanwhile: Meanwhile
  ) async throws {
    let (bench, told) = (MappingBench(), Told<ObjectMerge>())
    let (a, other, mapping) = try await publishAtOnce(bench, told)
    var b = other
    try mergeFolders(bench, a, b)
    // It has seen the other's, says so, and won.
    for _ in 0..<3 { _ = try await a.exchange() }
    #expect(try a.note("n")?.text == "a w" && told.all.isEmpty)
    try mergeFolders(bench, a, b)
    if meanwhile == .relaunch {
      try await b.close()
      b = try await bench.open("b", [mapping], account: "of b")
    }
    if meanwhile == .directSync || meanwhile == .directSyncAndFold {
      _ = try await b.main.exchange()
      try b.main.sync()
    }
    if meanwhile == .directSyncAndFold { _ = try b.main.compact() }
    _ = try await b.exchange()
    #expect(told.all.count == 1)
    #expect(try b.note("n")?.text == "a b w")
    for _ in 0..<3 {
      try mergeFolders(bench, a, b)
      _ = try await a.exchange()
      _ = try await b.exchange()
    }
    #expect(try a.note("n")?.text == "a b w")
    #expect(told.all.count == 1, "once")
  }
}
