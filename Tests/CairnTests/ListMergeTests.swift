import Cairn
import CairnDisk
import TestSupport
import Testing

/// Lists on two devices, through a real folder.
@Suite struct ListMergeTests {
  /// A record "r" with this list on both devices; `a` commits before `b` in what follows.
  private func devices(_ items: [Value]? = ["A", "B", "C", "D"]) async throws -> TwoDevices {
    let devices = try TwoDevices()
    let record = try devices.a.table("t").insert(["name": "x"], id: "r")
    if let items { try record.set("l", .list(items)) }
    try await devices.meet()
    return devices
  }

  private func list(_ datastore: Datastore) throws -> RecordList {
    try #require(try datastore.table("t").record("r")).list("l")
  }

  /// Both edit without having seen the other, `a` first; then they meet and agree.
  private func result(
    _ items: [Value]? = ["A", "B", "C", "D"], a: (RecordList) throws -> Void,
    b: (RecordList) throws -> Void
  ) async throws -> [Value] {
    let devices = try await devices(items)
    try a(try list(devices.a))
    try devices.a.sync()
    // The clock of both is the machine's: the second commit must not be in the same millisecond.
    try await Task.sleep(for: .milliseconds(5))
    try b(try list(devices.b))
    try devices.b.sync()
    try await devices.meet()
    let values = try list(devices.a).values
    #expect(try list(devices.b).values == values)
    #expect(devices.a.size == devices.b.size)
    return values
  }

  @Test func `insertions at one place: the first commit comes first`() async throws {
    let values = try await result {
      try $0.insert("y", at: 1)
    } b: {
      try $0.insert("x", at: 1)
    }
    #expect(values == ["A", "y", "x", "B", "C", "D"])
  }

  @Test func `runs do not interleave`() async throws {
    let values = try await result {
      try $0.append("y1")
      try $0.append("y2")
    } b: {
      try $0.append("x1")
      try $0.append("x2")
    }
    #expect(values == ["A", "B", "C", "D", "y1", "y2", "x1", "x2"])
  }

  @Test func `deleting beats replacing and moving`() async throws {
    #expect(
      try await result { try $0.remove(at: 1) } b: { try $0.replace(at: 1, with: "x") }
        == ["A", "C", "D"])
    #expect(
      try await result { try $0.move(from: 1, to: 3) } b: { try $0.remove(at: 1) }
        == ["A", "C", "D"])
  }

  @Test func `an item that both move is there once, where the first put it`() async throws {
    #expect(
      try await result { try $0.move(from: 0, to: 2) } b: { try $0.move(from: 0, to: 3) }
        == ["B", "C", "A", "D"])
  }

  @Test func `a new value follows a moved item`() async throws {
    #expect(
      try await result { try $0.move(from: 1, to: 3) } b: { try $0.replace(at: 1, with: "x") }
        == ["A", "C", "D", "x"])
  }

  @Test func `two values of one item: the rule decides`() async throws {
    for (rule, wanted) in [
      (ResolutionRule.remote, "y"), (.local, "x"), (.max, "y"), (.min, "x"), (.sum, "y"),
    ] {
      let values = try await result {
        try $0.record.table.setRule(rule, field: "l")
        try $0.replace(at: 1, with: "y")
      } b: {
        try $0.replace(at: 1, with: "x")
      }
      #expect(values == ["A", .string(wanted), "C", "D"], "\(rule)")
    }
  }

  @Test func `a value of an item that lost is reported`() async throws {
    let devices = try await devices()
    try list(devices.a).replace(at: 1, with: "y")
    try devices.a.sync()
    try await Task.sleep(for: .milliseconds(5))
    try list(devices.b).replace(at: 1, with: "x")
    try devices.b.sync()
    try await devices.a.exchange()
    try await devices.b.exchange()
    let conflict = try #require(try devices.b.sync().conflicts.first)
    #expect(conflict.field == "l" && conflict.visible == "y")
    #expect(conflict.losers.map(\.value) == ["x"])
    #expect(conflict.losers.map(\.device) == [devices.b.device])
  }

  /// What both syncs say at which they meet: both have edited without having seen the other, `a`
  /// first.
  private func reports(
    a: (RecordList) throws -> Void, b: (RecordList) throws -> Void
  ) async throws -> [SyncResult] {
    let devices = try await devices()
    try a(try list(devices.a))
    try devices.a.sync()
    try await Task.sleep(for: .milliseconds(5))
    try b(try list(devices.b))
    try devices.b.sync()
    try await devices.a.exchange()
    try await devices.b.exchange()
    try await devices.a.exchange()
    return [try devices.a.sync(), try devices.b.sync()]
  }

  @Test func `of edits that go with their list, item or record nothing is kept for a report`()
    async throws
  {
    let results = [
      try await reports {
        try $0.record.set("l", ["y"])
      } b: {
        try $0.append("x")
      },
      try await reports {
        try $0.append("y")
      } b: {
        try $0.record.remove("l")
      },
      try await reports {
        try $0.replace(at: 1, with: "y")
      } b: {
        try $0.remove(at: 1)
      },
    ]
    for result in results.flatMap({ $0 }) {
      #expect(result.incorporated == 1 && result.changes.map(\.id) == ["r"])
      #expect(result.conflicts.isEmpty)
    }
    let deleted = try await reports {
      try $0.record.set("name", "y")
    } b: {
      try $0.record.delete()
    }
    for result in deleted {
      #expect(result.incorporated == 1 && result.conflicts.isEmpty)
    }
  }

  @Test func `a whole list that is set beats edits of the list before`() async throws {
    #expect(
      try await result { try $0.append("y") } b: { try $0.record.set("l", ["x"]) } == ["x"])
    #expect(
      try await result { try $0.record.set("l", ["y"]) } b: { try $0.append("x") } == ["y"])
    #expect(try await result { try $0.record.remove("l") } b: { try $0.append("x") } == [])
  }

  @Test func `lists that both begin are one list, lists that both set are not`() async throws {
    #expect(
      try await result(nil) { try $0.append("y") } b: { try $0.append("x") } == ["y", "x"])
    #expect(
      try await result(nil) { try $0.record.set("l", ["y"]) } b: { try $0.record.set("l", ["x"]) }
        == ["y"])
  }

  @Test func `the record's delete takes the edits along`() async throws {
    let devices = try await devices()
    try list(devices.a).append("y")
    try devices.a.sync()
    try #require(try devices.b.table("t").record("r")).delete()
    try devices.b.sync()
    try await devices.meet()
    #expect(try devices.a.table("t").record("r") == nil)
    #expect(try devices.b.table("t").record("r") == nil)
  }

  @Test func `a record that a list was edited in is reported once`() async throws {
    let devices = try await devices()
    try list(devices.a).append("y")
    try list(devices.a).remove(at: 0)
    try devices.a.sync()
    try await devices.a.exchange()
    try await devices.b.exchange()
    let result = try devices.b.sync()
    #expect(result.changes.map(\.id) == ["r"])
    #expect(result.incorporated == 1)
    #expect(try list(devices.b).values == ["B", "C", "D", "y"])
  }

  @Test func `an edit costs a few bytes in the folder, not the list`() async throws {
    let devices = try await devices((0..<2000).map { .string("item number \($0)") })
    func published() throws -> UInt64 { try Files.bytes(devices.place.path + "/folder") }
    let before = try published()
    try list(devices.a).insert("new", at: 1000)
    try devices.a.sync()
    try await devices.a.exchange()
    #expect(try published() - before < 1000)
    try await devices.meet()
    #expect(try list(devices.b).value(at: 1000) == "new")
  }

  @Test func `compaction and reopening keep a list that goes on merging`() async throws {
    var devices = try await devices()
    for round in 0..<3 {
      try list(devices.a).insert(.int(Int64(round)), at: 2)
      try list(devices.b).move(from: 0, to: 3)
      try list(devices.b).append(.int(Int64(round + 100)))
      try await devices.meet()
      try devices.a.compact()
      try devices.b.compact()
      devices = try devices.reopened()
      let values = try list(devices.a).values
      #expect(try list(devices.b).values == values)
      #expect(values.count == 4 + 2 * (round + 1))
    }
  }
}

/// What a directory holds.
private enum Files {
  static func bytes(_ directory: String) throws -> UInt64 {
    let disk = PosixDisk()
    var sum: UInt64 = 0
    for entry in try disk.list(directory) {
      if entry.info.kind == .directory {
        sum += try bytes(directory + "/" + entry.name)
      } else {
        sum += entry.info.size
      }
    }
    return sum
  }
}
