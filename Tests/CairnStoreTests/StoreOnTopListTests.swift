import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A device that comes back after the others have stopped to wait for it, with a list that they
/// have begun, too: the two are one, whatever anybody has done or does to either.
@Suite struct StoreOnTopListTests {
  /// What is done to the list that is there, and what there is in the end.
  struct Step: Sendable {
    var operation: ListOperation
    var shown: [FieldValue]
  }

  private let a: StoreDevice
  private let b: StoreDevice
  private let published: [UInt8]

  /// Both have two records. No more than that of what `a` does is known to others.
  init() throws {
    let (a, b) = (try StoreDevice(1, time: 1000), try StoreDevice(2, time: 2000))
    try a.store.insert("r")
    try a.store.insert("s", ["l": .list(["1"])])
    try a.store.sync()
    let published = try a.store.pack()
    try b.store.sync(packs: [published])
    (self.a, self.b, self.published) = (a, b, published)
  }

  /// Edits the list as one delta.
  private func edit(_ device: StoreDevice, _ operations: ListOperation...) throws {
    device.clock.advance(by: 100)
    for operation in operations { try pend(device, "r", operation) }
    try device.store.sync()
  }

  private func pend(_ device: StoreDevice, _ id: String, _ operation: ListOperation) throws {
    try device.store.edit(table: "t", id: RecordName(id), field: "l", operation)
  }

  private func shown(_ device: StoreDevice, _ id: String = "r") throws -> FieldValue? {
    try device.store.get(id)?["l"]
  }

  /// What `a` comes back to: all that `b` has done so far.
  private func staged() throws -> Rejoining {
    return try a.rejoining(published: published, others: try b.store.pack())
  }

  /// Comes back, and all hear of all. Returns what the list is then.
  private func comeBack(
    _ plan: Rejoining, losers: [FieldValue?] = []
  ) throws -> FieldValue? {
    let outcome = try #require(try a.store.rejoin(plan) { _ in })
    try plan.staged.close()
    #expect(outcome.conflicts.flatMap(\.conflict.losers).map(\.value) == losers)
    try b.store.sync(packs: [try a.store.pack()])
    try a.store.sync(packs: [try b.store.pack()])
    let c = try StoreDevice(3)
    try c.store.sync(packs: [published, try b.store.pack(), try a.store.pack()])
    let content = try StoreContent(a.store)
    _ = try a.store.compact()
    for other in [b, c] {
      #expect(other.store.vector == a.store.vector)
      #expect(try StoreContent(other.store).differences(from: content) == [])
      _ = try other.store.compact()
      #expect(other.snapshotBytes() == a.snapshotBytes())
    }
    try a.reopen()
    #expect(try StoreContent(a.store).differences(from: content) == [])
    return try shown(a)
  }

  static let meanwhile = [
    Step(operation: .append("m"), shown: ["a", "x", "m"]),
    Step(operation: .insert("m", at: 0), shown: ["m", "a", "x"]),
    Step(operation: .remove(at: 0), shown: ["x"]),
    Step(operation: .replace(at: 0, "A"), shown: ["A", "x"]),
  ]

  @Test(arguments: meanwhile)
  func `what others do to theirs meanwhile is kept`(step: Step) throws {
    try edit(a, .append("x"))
    try edit(b, .append("a"))
    let plan = try staged()
    // They do not know that it comes back.
    try edit(b, step.operation)
    #expect(try comeBack(plan) == .list(step.shown))
  }

  static let before = [
    Step(operation: .remove(at: 1), shown: ["x"]),
    Step(operation: .replace(at: 1, "A"), shown: ["A", "x"]),
    Step(operation: .append("c"), shown: ["a", "x", "c"]),
    Step(operation: .insert("c", at: 1), shown: ["a", "x", "c"]),
    Step(operation: .insert("c", at: 0), shown: ["a", "c", "x"]),
  ]

  @Test(arguments: before)
  func `what it had done to theirs before it gave way is kept`(step: Step) throws {
    try edit(a, .append("x"))
    try edit(b, .append("a"))
    try a.store.sync(packs: [try b.store.pack()])
    #expect(try shown(a) == .list(["x", "a"]))
    try edit(a, step.operation)
    #expect(try comeBack(staged()) == .list(step.shown))
  }

  @Test func `its later edits find its own items behind those that are there`() throws {
    try edit(a, .insertAll(["x", "y", "z"], at: 0))
    try edit(a, .remove(at: 1))
    try edit(a, .replace(at: 1, "Z"), .insert("v", at: 1))
    try edit(a, .move(from: 2, to: 0))
    #expect(try shown(a) == .list(["Z", "x", "v"]))
    try edit(b, .append("a"))
    #expect(try comeBack(staged()) == .list(["a", "Z", "x", "v"]))
  }

  @Test func `what it put into a list that was begun empty goes to the end`() throws {
    try edit(a, .append("x"), .removeLast)
    #expect(try shown(a) == .list([]))
    try edit(a, .append("y"))
    try edit(a, .insert("w", at: 0))
    try edit(b, .append("a"))
    #expect(try comeBack(staged()) == .list(["a", "w", "y"]))
  }

  @Test func `one delta begins a list and edits one of another record`() throws {
    try pend(a, "s", .append("2"))
    try edit(a, .append("x"))
    try edit(b, .append("a"))
    #expect(try comeBack(staged()) == .list(["a", "x"]))
    #expect(try shown(a, "s") == .list(["1", "2"]))
  }

  /// A list that was put as a whole is one that is there; other values are none.
  @Test(arguments: [.list(["a"]), .list([]), 5, nil] as [FieldValue?])
  func `the field shows what others have put`(theirs: FieldValue?) throws {
    try edit(a, .append("x"))
    try edit(a, .append("y"))
    try b.store.set("r", ["l": theirs, "n": 1])
    try b.store.sync()
    var items: [FieldValue] = []
    var losers: [FieldValue?] = []
    if case .list(let there) = theirs {
      items = there
    } else if let theirs {
      losers = [theirs]
    }
    #expect(try comeBack(staged(), losers: losers) == .list(items + ["x", "y"]))
  }

  @Test func `a list that it had removed and begun anew takes the place of theirs`() throws {
    try edit(a, .append("x"))
    try a.store.set("r", ["l": nil])
    try a.store.sync()
    try edit(a, .append("y"))
    try edit(a, .append("z"))
    try edit(b, .append("a"))
    let losers = [FieldValue.list(["a", "x"])]
    #expect(try comeBack(staged(), losers: losers) == .list(["y", "z"]))
  }
}
