import Cairn
import Testing
import TestSupport

@Suite struct TwoDeviceTests {
  @Test func `what one device writes the other one reads`() async throws {
    let devices = try TwoDevices()
    let table = try devices.a.table("tasks")
    try table.insert(["title": "milk", "done": false, "amount": 2, "price": 1.25], id: "t1")
    try devices.a.sync()
    try await devices.a.exchange()
    let report = try await devices.b.exchange()
    #expect(report.fetchedDeltas == 1)
    #expect(try devices.b.tables().isEmpty, "fetched is not visible before sync")
    let result = try devices.b.sync()
    #expect(result.incorporated == 1)
    #expect(result.changes.map(\.id) == ["t1"])
    let record = try #require(try devices.b.table("tasks").record("t1"))
    #expect(
      try record.fields == ["title": "milk", "done": false, "amount": 2, "price": 1.25])
  }

  @Test func `a title that came is among the changes`() async throws {
    let devices = try TwoDevices()
    try devices.a.setTitle("Notes")
    try devices.a.sync()
    try await devices.a.exchange()
    try await devices.b.exchange()
    #expect(try devices.b.sync().changedRecords == [":info": ["info"]])
    #expect(try devices.b.title == "Notes")
  }

  @Test func `different fields merge and one field goes to the first commit`() async throws {
    let devices = try TwoDevices()
    try devices.a.table("t").insert(["x": 1, "y": 1], id: "r")
    try await devices.meet()
    try devices.a.table("t")["r"].update(["x": 2, "z": "a"])
    try devices.a.sync()
    // So that the two commits have different times: a tie goes by device.
    try await Task.sleep(for: .milliseconds(5))
    try devices.b.table("t")["r"].update(["y": 3, "z": "b"])
    try devices.b.sync()
    try await devices.meet()
    let expected: [String: Value] = ["x": 2, "y": 3, "z": "a"]
    #expect(try devices.a.table("t")["r"].fields == expected)
    #expect(try devices.b.table("t")["r"].fields == expected)
  }

  @Test func `a conflict is reported with its loser on both devices`() async throws {
    let devices = try TwoDevices()
    try devices.a.table("t").insert(["x": 1], id: "r")
    try await devices.meet()
    try devices.a.table("t")["r"].set("x", 2)
    try devices.a.sync()
    try await devices.a.exchange()
    try devices.b.table("t")["r"].set("x", 3)
    try devices.b.sync()
    try await devices.b.exchange()
    let result = try devices.b.sync()
    #expect(result.conflicts.count == 1)
    #expect(result.conflicts.first?.visible == 2)
    #expect(result.conflicts.first?.losers.map(\.value) == [3])
    try await devices.b.exchange()
    try await devices.a.exchange()
    let other = try devices.a.sync()
    #expect(other.conflicts.count == 1)
    #expect(other.conflicts.first?.visible == 2)
    #expect(other.conflicts.first?.losers.map(\.value) == [3])
    try await devices.meet()
    #expect(try content(devices.a) == content(devices.b))
  }

  @Test func `delete wins over a concurrent update, and a re-insert lives`() async throws {
    let devices = try TwoDevices()
    let t = try devices.a.table("t")
    try t.insert(["x": 1], id: "r1")
    try t.insert(["x": 1], id: "r2")
    try await devices.meet()
    try t["r1"].delete()
    try t["r2"].delete()
    try devices.a.sync()
    try t.insert(["y": 5], id: "r2")
    try devices.a.sync()
    try devices.b.table("t")["r1"].set("x", 7)
    try devices.b.table("t")["r2"].set("x", 7)
    try devices.b.sync()
    try await devices.meet()
    #expect(try content(devices.a) == ["t/r2": ["y": 5]])
    #expect(try content(devices.b) == ["t/r2": ["y": 5]])
    #expect(devices.a.recordCount == 1 && devices.b.recordCount == 1)
    #expect(devices.a.size == 1200 && devices.b.size == 1200)
  }

  @Test func `sums add up`() async throws {
    let devices = try TwoDevices()
    let t = try devices.a.table("t")
    try t.setRule(.sum, field: "n")
    try t.insert(["n": 10], id: "r")
    try await devices.meet()
    #expect(try devices.b.table("t").rule(field: "n") == .sum)
    try t["r"].set("n", 12)
    try devices.a.sync()
    try devices.b.table("t")["r"].set("n", 7)
    try devices.b.sync()
    try await devices.meet()
    #expect(try t["r"].int("n") == 9)
    #expect(try devices.b.table("t")["r"].int("n") == 9)
  }

  @Test func `everything is the same after closing and opening again`() async throws {
    let devices = try TwoDevices()
    let t = try devices.a.table("t")
    for i in 0..<200 {
      try t.insert(["i": .int(Int64(i)), "s": .string("v\(i)")], id: RecordID("r\(i)"))
    }
    try await devices.meet()
    for i in 0..<200 where i % 3 == 0 { try t[RecordID("r\(i)")].set("i", .int(Int64(-i))) }
    try devices.a.sync()
    for i in 0..<200 where i % 5 == 0 {
      try devices.b.table("t")[RecordID("r\(i)")].set("i", .double(Double(i) + 0.5))
    }
    try devices.b.table("t")["r7"].delete()
    try devices.b.sync()
    try await devices.meet()
    let before = try content(devices.a)
    #expect(try content(devices.b) == before)
    let (size, count) = (devices.a.size, devices.a.recordCount)
    #expect(devices.b.size == size && devices.b.recordCount == count)
    let manager = devices.a.manager
    for compacts in [false, true] {
      let store = try manager.openOr(devices.a)
      if compacts { try store.compact() }
      #expect(try content(store) == before)
      try store.close()
      let again = try manager.openOrCreateDatastore("notes")
      #expect(try content(again) == before)
      #expect(again.size == size && again.recordCount == count)
      try again.close()
    }
  }

  @Test func `a new device starts from a snapshot`() async throws {
    let devices = try TwoDevices()
    let t = try devices.a.table("t")
    for i in 0..<5000 {
      // Random text, so that packing does not make it too little for a snapshot.
      let noise = (0..<3).map { _ in RecordID.random().description }.joined()
      try t.insert(["i": .int(Int64(i)), "s": .string(noise)])
    }
    try devices.a.sync()
    try await devices.a.exchange()
    try devices.a.compact()
    let report = try await devices.a.exchange()
    #expect(report.publishedSnapshot)
    try t.insert(["i": 1], id: "later")
    try devices.a.sync()
    try await devices.a.exchange()
    let fetched = try await devices.b.exchange()
    #expect(fetched.fetchedSnapshot)
    try devices.b.sync()
    try await devices.b.exchange()
    try devices.b.sync()
    #expect(try content(devices.b) == content(devices.a))
    #expect(devices.b.size == devices.a.size)
  }
}

extension DatastoreManager {
  func openOr(_ datastore: Datastore) throws -> Datastore {
    datastore.isOpen ? datastore : try openOrCreateDatastore(datastore.id)
  }
}
