import Cairn
import TestSupport
import Testing

/// Two devices with the same model: edits merge field by field, rules travel.
@Suite struct TypedMergeTests {
  struct Task: TableModel, Equatable {
    static let table = "tasks"
    static let rules: [String: ResolutionRule] = ["votes": .sum, "due": .min]

    var title: String
    var done = false
    var votes = 0
    var due: Timestamp?
    var tags: [String] = []
  }

  /// The next version of the app, with a field that the first does not know.
  struct NewTask: TableModel, Equatable {
    static let table = "tasks"
    var title: String
    var done = false
    var color: Color?
  }

  /// So that commits have different times: a tie goes by device.
  private func wait() async throws { try await _Concurrency.Task.sleep(for: .milliseconds(5)) }

  @Test func `edits of different fields both stay`() async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Task.self)
    let b = try devices.b.table(of: Task.self)
    try a.insert(Task(title: "milk", votes: 1), id: "t")
    try await devices.meet()
    #expect(try b.get("t") == Task(title: "milk", votes: 1))
    try a.update("t") {
      $0.title = "oat milk"
      $0.votes += 2
    }
    try devices.a.sync()
    try await wait()
    try b.update("t") {
      $0.done = true
      $0.votes += 4
      $0.tags = ["shop"]
    }
    try devices.b.sync()
    try await devices.meet()
    let expected = Task(title: "oat milk", done: true, votes: 7, tags: ["shop"])
    #expect(try a.get("t") == expected)
    #expect(try b.get("t") == expected)
  }

  @Test func `a whole value writes the differences only, so that it merges as well`() async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Task.self)
    let b = try devices.b.table(of: Task.self)
    try a.insert(Task(title: "milk"), id: "t")
    try await devices.meet()
    try a.update("t", Task(title: "oat milk"))
    try devices.a.sync()
    try await wait()
    try b.update("t", Task(title: "milk", done: true))
    try devices.b.sync()
    try await devices.meet()
    #expect(try a.get("t") == Task(title: "oat milk", done: true))
    #expect(try b.get("t") == Task(title: "oat milk", done: true))
  }

  @Test func `an old and a new version of the app share records`() async throws {
    let devices = try TwoDevices()
    let old = try devices.a.table(of: Task.self)
    let new = try devices.b.table(of: NewTask.self)
    try old.insert(Task(title: "milk", tags: ["x"]), id: "t")
    try await devices.meet()
    try new.update("t") { $0.color = .green }
    try devices.b.sync()
    try old.update("t") { $0.done = true }
    try devices.a.sync()
    try await devices.meet()
    try old.update("t", Task(title: "bread", done: true, tags: ["x"]))
    try await devices.meet()
    #expect(try new.get("t") == NewTask(title: "bread", done: true, color: .green))
    #expect(try old.get("t") == Task(title: "bread", done: true, tags: ["x"]))
  }

  @Test func `the same record inserted on both devices merges by field`() async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Task.self)
    let b = try devices.b.table(of: Task.self)
    let early = Timestamp(millisecondsSince1970: 1)
    #expect(try a.getOrInsert("t", Task(title: "a", votes: 1, due: early)).inserted)
    try devices.a.sync()
    try await wait()
    #expect(try b.getOrInsert("t", Task(title: "b", votes: 2)).inserted)
    try devices.b.sync()
    try await devices.meet()
    // A field that was never written is no change: the earliest date of those that are there.
    let expected = Task(title: "a", votes: 3, due: early)
    #expect(try a.get("t") == expected)
    #expect(try b.get("t") == expected)
  }

  struct Bag: TableModel, Equatable {
    static let table = "bags"
    var things: Set<String>
    var steps: [Int]
  }

  @Test func `a set that both devices put the same things into is a set`() async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Bag.self)
    let b = try devices.b.table(of: Bag.self)
    try a.insert(Bag(things: ["m"], steps: [1, 2]), id: "r")
    try await devices.meet()
    try a.update("r") {
      $0.things = ["m", "a", "z"]
      $0.steps = [0, 1, 2]
    }
    try devices.a.sync()
    try await wait()
    try b.update("r") {
      $0.things = ["m", "z", "b"]
      $0.steps = [1, 2, 3]
    }
    try devices.b.sync()
    try await devices.meet()
    let both = Bag(things: ["m", "a", "b", "z"], steps: [0, 1, 2, 3])
    #expect(try a.get("r") == both)
    #expect(try b.get("r") == both)
    // The list has a thing twice now, and still it can be taken away.
    try b.update("r", both)
    #expect(devices.b.unsyncedChangesSize == 0)
    try b.update("r") { $0.things.remove("z") }
    try await devices.meet()
    #expect(try a.get("r")?.things == ["m", "a", "b"])
    #expect(try a.table["r"].listValues("things") == b.table["r"].listValues("things"))
  }

  struct Scale: TableModel, Equatable {
    static let table = "scales"
    var things: Set<Double>
  }

  @Test func `an integer that another device takes out of a set stays out`() async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Scale.self)
    let b = try devices.b.table("scales")
    try a.table.insert(fields: ["things": [1, 2]], id: "r")
    try await devices.meet()
    try a.update("r") { $0.things.insert(3) }
    try devices.a.sync()
    try await wait()
    try b["r"].list("things").remove(at: 0)
    try devices.b.sync()
    try await devices.meet()
    for datastore in [devices.a, devices.b] {
      #expect(try datastore.table("scales")["r"].listValues("things") == [2, 3.0])
    }
  }

  // MARK: what is kept as a list and is none

  struct Shift: TableModel, Equatable {
    static let table = "shifts"
    var span: Range<Int>
    var spot: Spot
    var people: Wrapped
    var crew: Crew
  }

  /// Encodes as the list in it does, as property wrappers do.
  struct Wrapped: Codable, Sendable, Equatable {
    var list: [String]
    var isDirty = false

    init(_ list: [String]) { self.list = list }
    init(from decoder: any Decoder) throws { list = try [String](from: decoder) }
    func encode(to encoder: any Encoder) throws { try list.encode(to: encoder) }
  }

  /// Encodes as the list that it may have.
  enum Crew: Codable, Sendable, Equatable {
    case nobody
    case list(people: [String])

    init(from decoder: any Decoder) throws {
      let people = try [String](from: decoder)
      self = people.isEmpty ? .nobody : .list(people: people)
    }

    func encode(to encoder: any Encoder) throws {
      switch self {
      case .nobody: try [String]().encode(to: encoder)
      case .list(let people): try people.encode(to: encoder)
      }
    }
  }

  /// A text and numbers in turn.
  struct Spot: Codable, Sendable, Equatable {
    var label: String
    var x: Int

    init(_ label: String, _ x: Int) { (self.label, self.x) = (label, x) }

    init(from decoder: any Decoder) throws {
      var items = try decoder.unkeyedContainer()
      label = try items.decode(String.self)
      x = try items.decode(Int.self)
    }

    func encode(to encoder: any Encoder) throws {
      var items = encoder.unkeyedContainer()
      try items.encode(label)
      try items.encode(x)
    }
  }

  @Test(arguments: [true, false])
  func `of two ranges or positions one wins, and lists that are wrapped merge`(
    isWhole: Bool
  ) async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Shift.self)
    let b = try devices.b.table(of: Shift.self)
    let old = Shift(
      span: 1..<5, spot: Spot("old", 0), people: Wrapped(["m"]), crew: .list(people: ["x"]))
    try a.insert(old, id: "r")
    try await devices.meet()
    let early = Shift(
      span: 1..<3, spot: Spot("old", 1), people: Wrapped(["m", "a"]),
      crew: .list(people: ["x", "y"]))
    let late = Shift(
      span: 4..<5, spot: Spot("new", 0), people: Wrapped(["b", "m"]),
      crew: .list(people: ["z", "x"]))
    if isWhole { try a.update("r", early) } else { try a.update("r") { $0 = early } }
    try devices.a.sync()
    try await wait()
    if isWhole { try b.update("r", late) } else { try b.update("r") { $0 = late } }
    try devices.b.sync()
    try await devices.meet()
    let expected = Shift(
      span: 1..<3, spot: Spot("old", 1), people: Wrapped(["b", "m", "a"]),
      crew: .list(people: ["z", "x", "y"]))
    #expect(try a.get("r") == expected)
    #expect(try b.get("r") == expected)
  }

  @Test func `an enum that has no list any more has emptied it, item by item`() async throws {
    let devices = try TwoDevices()
    let a = try devices.a.table(of: Shift.self)
    let b = try devices.b.table(of: Shift.self)
    var shift = Shift(
      span: 1..<5, spot: Spot("old", 0), people: Wrapped([]), crew: .list(people: ["x"]))
    try a.insert(shift, id: "r")
    try await devices.meet()
    try a.update("r") { $0.crew = .nobody }
    try devices.a.sync()
    try await wait()
    try b.update("r") { $0.crew = .list(people: ["x", "y"]) }
    try devices.b.sync()
    try await devices.meet()
    shift.crew = .list(people: ["y"])
    #expect(try a.get("r") == shift)
    #expect(try b.get("r") == shift)
  }

  // MARK: rules

  @Test func `rules are set with the table and reach other devices`() async throws {
    let devices = try TwoDevices()
    _ = try devices.a.table(of: Task.self)
    #expect(devices.a.unsyncedChangesSize > 0)
    let raw = try devices.a.table("tasks")
    #expect(raw.rule(field: "votes") == .sum && raw.rule(field: "due") == .min)
    try await devices.meet()
    let there = try devices.b.table("tasks")
    #expect(there.rule(field: "votes") == .sum && there.rule(field: "due") == .min)
    #expect(there.rule(field: "title") == .remote)
  }

  @Test func `equal rules write nothing`() async throws {
    let devices = try TwoDevices()
    _ = try devices.a.table(of: Task.self)
    try await devices.meet()
    for datastore in [devices.a, devices.b] {
      _ = try datastore.table(of: Task.self)
      _ = try datastore.table("tasks", of: Task.self, rules: ["votes": .sum])
      #expect(datastore.unsyncedChangesSize == 0)
      #expect(try !datastore.sync().committed)
    }
  }

  @Test func `a rule that equals the default is set all the same`() throws {
    let bench = try TypedBench()
    try bench.datastore.setDefaultRule(.max)
    try bench.datastore.sync()
    let table = try bench.datastore.table("t", of: Task.self, rules: ["title": .max])
    #expect(bench.datastore.unsyncedChangesSize > 0)
    try bench.datastore.setDefaultRule(.local)
    #expect(table.table.rule(field: "title") == .max)
    #expect(table.table.rule(field: "done") == .local)
  }

  @Test func `rules that are given come before the model's`() throws {
    let bench = try TypedBench()
    let table = try bench.datastore.table(of: Task.self, rules: ["votes": .max, "title": .local])
    #expect(table.table.rule(field: "votes") == .max)
    #expect(table.table.rule(field: "title") == .local)
    #expect(table.table.rule(field: "due") == .min)
    let archive = try bench.datastore.table("archive", of: Task.self)
    #expect(archive.table.rule(field: "votes") == .sum)
    let plain = try bench.datastore.table("plain", of: Color?.self, rules: ["x": .max])
    #expect(plain.table.rule(field: "x") == .max)
  }

  @Test func `rules with one bad name set none`() throws {
    let bench = try TypedBench()
    let error = #expect(throws: CairnError.self) {
      try bench.datastore.table(of: Task.self, rules: ["a": .max, "no name": .max])
    }
    #expect(error?.code == .illegalArgument)
    #expect(bench.datastore.unsyncedChangesSize == 0)
    try bench.datastore.close()
    let closed = #expect(throws: CairnError.self) { try bench.datastore.table(of: Task.self) }
    #expect(closed?.code == .closed)
  }

  @Test func `rules of a rollback are set again with the next table`() throws {
    let bench = try TypedBench()
    _ = try bench.datastore.table(of: Task.self)
    try bench.datastore.rollback()
    #expect(try bench.datastore.table("tasks").rule(field: "votes") == .remote)
    let table = try bench.datastore.table(of: Task.self)
    #expect(table.table.rule(field: "votes") == .sum)
  }
}
