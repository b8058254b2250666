import Cairn
import TestSupport
import Testing

/// Whatever several devices do, in whatever order they meet: at the end all have the same.
@Suite struct ConvergenceTests {
  /// Devices that do as a seed tells them.
  private final class Crowd {
    let bench: FolderWorkbench
    let random: SeededRandom
    let names: [String]
    var devices: [Datastore] = []
    let tables = ["t", "u"]
    let fields = ["a", "b", "n", "sum", "max"]

    init(_ count: Int, seed: UInt64) throws {
      bench = try FolderWorkbench()
      bench.options.durability = .none
      bench.options.segmentBytes = 64 << 10
      bench.options.graceSeconds = 0
      random = SeededRandom(seed)
      names = (0..<count).map { "d\($0)" }
      for name in names { devices.append(try bench.open(name)) }
    }

    func value(for field: String) -> Value? {
      if field == "sum" || field == "n" {
        return random.coin() ? .int(Int64(random.below(100))) : .double(Double(random.below(9)) / 2)
      }
      return switch random.below(9) {
      case 0: nil
      case 1: .bool(random.coin())
      case 2: .int(Int64(bitPattern: random.next()))
      case 3: .double(random.coin() ? -0.5 : .infinity)
      case 4: .string("text \(random.below(50)) ü\u{1F426}")
      case 5: .bytes(random.bytes(random.below(40)))
      case 6: .date(Timestamp(millisecondsSince1970: Int64(random.below(1 << 40))))
      case 7: .list([1, 2.5, "three", .bytes([4]), true])
      default: .list([])
      }
    }

    func edit(_ device: Datastore) throws {
      let table = try device.table(tables[random.below(2)])
      let id = RecordID("r\(random.below(12))")
      if random.below(25) == 0 {
        let rule = ResolutionRule.allCases[random.below(5)]
        return try table.setRule(rule, field: fields[random.below(5)])
      }
      guard let record = try table.record(id) else {
        let field = fields[random.below(5)]
        try table.insert(fields: value(for: field).map { [field: $0] } ?? [:], id: id)
        return
      }
      if random.below(6) == 0 {
        try record.delete()
        if random.coin() { try table.insert(["again": true], id: id) }
        return
      }
      var changes: [String: Value?] = [:]
      for _ in 0...random.below(3) {
        let field = fields[random.below(5)]
        changes.updateValue(value(for: field), forKey: field)
      }
      try record.update(changes)
    }

    func step() async throws {
      let number = random.below(devices.count)
      let device = devices[number]
      switch random.below(20) {
      case 0..<10: try edit(device)
      case 10..<14: try device.sync()
      case 14..<18: try await device.exchange()
      case 18: if random.coin() { try device.compact() } else { try device.rollback() }
      default:
        try device.close()
        devices[number] = try bench.open(names[number])
      }
    }

    /// Until nothing is published any more.
    func settle() async throws {
      for _ in 0..<10 {
        var isQuiet = true
        for device in devices {
          try device.sync()
          if try await device.pull().isIdle == false { isQuiet = false }
        }
        if isQuiet { return }
      }
      Issue.record("the devices never come to rest")
    }

    func expectEqual(_ seed: UInt64) throws {
      let expected = try content(devices[0])
      for device in devices {
        #expect(try content(device) == expected, "seed \(seed)")
        #expect(device.size == devices[0].size && device.recordCount == devices[0].recordCount)
        let sizes = try device.tables().flatMap { try $0.query() }.map { try $0.size }
        #expect(sizes.reduce(0, +) <= device.size - 1000)
        for table in try device.tables() {
          #expect(try table.count == table.query().count)
          for field in fields {
            let first = try devices[0].table(table.id).rule(field: field)
            #expect(table.rule(field: field) == first)
          }
        }
      }
    }
  }

  @Test(arguments: [3, 5], [1, 2, 3] as [UInt64])
  func `all devices end with the same`(count: Int, seed: UInt64) async throws {
    let crowd = try Crowd(count, seed: seed)
    for _ in 0..<2 {
      for _ in 0..<150 { try await crowd.step() }
      try await crowd.settle()
      try crowd.expectEqual(seed)
    }
    for (number, name) in crowd.names.enumerated() {
      try crowd.devices[number].close()
      crowd.devices[number] = try crowd.bench.open(name)
    }
    try crowd.expectEqual(seed)
    try crowd.devices[0].compact()
    try crowd.expectEqual(seed)
    // One that joins only now has the same, too.
    crowd.devices.append(try crowd.bench.open("late"))
    try await crowd.settle()
    try crowd.expectEqual(seed)
  }

  @Test func `sums of five devices add up whatever the order`() async throws {
    let crowd = try Crowd(5, seed: 9)
    let first = crowd.devices[0]
    try first.table("t").setRule(.sum, field: "sum")
    try first.table("t").insert(["sum": 100], id: "r")
    try await crowd.settle()
    var expected: Int64 = 100
    for _ in 0..<60 {
      let device = crowd.devices[crowd.random.below(5)]
      let record = try device.table("t")["r"]
      let change = Int64(crowd.random.below(21)) - 10
      try record.set("sum", .int(try #require(try record.int("sum")) + change))
      expected += change
      if crowd.random.coin() { try device.sync() }
      if crowd.random.below(3) == 0 { try await device.pull() }
    }
    try await crowd.settle()
    for device in crowd.devices { #expect(try device.table("t")["r"].int("sum") == expected) }
    try crowd.expectEqual(9)
  }

  @Test func `a private id made offline on two devices is one datastore`() async throws {
    let bench = try FolderWorkbench()
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    #expect(a.device != b.device)
    for (name, device) in [("a", a), ("b", b)] {
      try device.table("t").insert(["by": .string(name), name: 1], id: "same")
      try device.setTitle("made by \(name)")
      try device.add(name)
      // So that the commits have different times: a tie goes by device.
      try await Task.sleep(for: .milliseconds(3))
    }
    for _ in 0..<2 { for device in [a, b] { try await device.pull() } }
    #expect(try a.ids() == ["a", "b", "same"])
    #expect(try content(a)["t/same"] == ["by": "a", "a": 1, "b": 1])
    #expect(try content(a) == content(b))
    #expect(try a.title == "made by a" && b.title == "made by a")
    #expect(a.size == b.size && a.recordCount == 4 && b.recordCount == 4)
  }

  @Test func `datastores of other names do not meet`() async throws {
    let bench = try FolderWorkbench()
    let a = try await bench.publisher("a")
    let other = try bench.manager("b").openOrCreateDatastore("other")
    try other.add("b")
    try await other.pull()
    try await a.pull()
    #expect(try a.ids() == ["a"] && other.ids() == ["b"])
  }

  @Test func `what was fetched shows in sync only, all of it at once`() async throws {
    let devices = try TwoDevices()
    let (a, b) = (devices.a, devices.b)
    try b.table("t").insert(["x": 0], id: "own")
    try b.sync()
    for index in 0..<20 {
      try a.table("t").insert(["i": .int(Int64(index))], id: RecordID("r\(index)"))
      if index % 4 == 0 { try a.sync() }
    }
    try a.sync()
    try await a.exchange()
    #expect(!b.status.incoming)
    let before = (try content(b), b.size, b.recordCount)
    #expect(try await b.exchange().fetchedDeltas == 6)
    #expect(b.status.incoming)
    #expect(try content(b) == before.0 && b.size == before.1 && b.recordCount == before.2)
    #expect(try await b.exchange().fetchedDeltas == 0, "it is fetched once")
    let result = try b.sync()
    #expect(result.incorporated == 6 && !result.committed)
    #expect(result.changedRecords == ["t": Set((0..<20).map { RecordID("r\($0)") })])
    #expect(try b.table("t").count == 21 && !b.status.incoming)
  }
}
