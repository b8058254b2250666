import CairnMerge
import TestSupport
import Testing

/// Counters: what the rule `sum` adds up, step by step.
struct SumTests {
  private func sum(_ pair: Pair) throws -> FieldValue? {
    try #require(pair.met).visible("n", rule: .sum)
  }

  private func counter(_ value: FieldValue) -> Pair {
    Pair(shared: [.insert, .set("n", value, .sum)])
  }

  @Test func `repeated writes of one device add up once`() throws {
    var pair = counter(.int(10))
    pair.onRemote(.set("n", .int(9), .sum))
    pair.onRemote(.set("n", .int(19), .sum))
    pair.onLocal(.set("n", .int(12), .sum))
    pair.onLocal(.set("n", .int(15), .sum))
    pair.meet()
    #expect(try sum(pair) == .int(24))
  }

  @Test func `max and min look at what each device ended with`() throws {
    var pair = counter(.int(0))
    pair.onRemote(.set("n", .int(4)))
    pair.onLocal(.set("n", .int(5)))
    pair.onLocal(.set("n", .int(2)))
    pair.meet()
    #expect(try #require(pair.met).visible("n", rule: .max) == .int(4))
  }

  @Test func `an addition after a removal starts from zero and keeps the other side's`() throws {
    var pair = counter(.int(10))
    pair.onRemote(.set("n", .int(15), .sum))
    pair.onLocal(.set("n", nil, .sum))
    pair.onLocal(.set("n", .int(3), .sum))
    pair.meet()
    #expect(try sum(pair) == .int(8))
  }

  @Test func `a plain put keeps additions that it had not seen`() throws {
    var pair = counter(.int(10))
    pair.onRemote(.set("n", .int(15), .sum))
    pair.onLocal(.set("n", .int(100), .remote))
    pair.meet()
    #expect(try sum(pair) == .int(105))
    #expect(try #require(pair.met).visible("n", rule: .remote) == .int(15))
  }

  @Test func `the next write over a merged sum makes it exact again`() throws {
    var pair = counter(.double(0.1))
    pair.onRemote(.set("n", .double(0.3), .sum))
    pair.onLocal(.set("n", .double(0.7), .sum))
    pair.meet()
    pair.onLocal(.set("n", .double(0.5), .sum))
    pair.meet()
    #expect(try sum(pair) == .double(0.5))
  }

  @Test func `of two puts the one that is not counted from has lost, additions have not`() throws {
    var pair = Pair(shared: [.insert, .set("a", .string("s"), .sum), .set("b", .int(10), .sum)])
    pair.onRemote(.set("a", .int(2), .sum), .set("b", .int(7), .sum))
    pair.onLocal(.set("a", .int(1), .sum), .set("b", .int(12), .sum))
    pair.meet()
    let found = try #require(pair.met).conflicts { _ in .sum }
    #expect(found.map(\.field) == ["a"])
    #expect(found[0].visible == .int(2))
    #expect(found[0].losers.map(\.value) == [.int(1)])
  }

  @Test func `integers wrap`() throws {
    var pair = counter(.int(.max))
    pair.onRemote(.set("n", .int(.min), .sum))
    pair.onLocal(.set("n", .int(.min + 1), .sum))
    pair.meet()
    #expect(try sum(pair) == .int(.min + 2))
  }

  @Test func `integers stay exact beyond what doubles can hold`() throws {
    var pair = counter(.int(1 << 60))
    pair.onRemote(.set("n", .int(1 << 60 + 1), .sum))
    pair.onLocal(.set("n", .int(1 << 60 + 2), .sum))
    pair.meet()
    #expect(try sum(pair) == .int(1 << 60 + 3))
  }

  @Test(arguments: [
    FieldValue.bool(true), .date(5), .bytes([1]), .string("1"), .double(.nan), .double(.infinity),
  ])
  func `what is no finite number competes`(value: FieldValue) throws {
    var pair = counter(.int(10))
    pair.onRemote(.set("n", value, .sum))
    pair.onLocal(.set("n", .int(12), .sum))
    pair.meet()
    #expect(try sum(pair) == value)
    pair.onLocal(.set("n", .int(3), .sum))
    pair.meet()
    #expect(try sum(pair) == .int(3), "a number over it is a plain put")
  }

  @Test func `an overflow becomes a plain put, so that the counter can go on`() throws {
    var pair = counter(.double(-1.5e308))
    pair.onLocal(.set("n", .double(1.5e308), .sum))
    pair.meet()
    #expect(try sum(pair) == .double(1.5e308))
    pair.onRemote(.set("n", .double(0), .sum))
    pair.meet()
    #expect(try sum(pair) == .double(0))
  }

  @Test func `the kinds of write`() {
    let dot = Dot(device: DeviceID(rawValue: 1), sequence: 7)
    #expect(
      Register().write(.int(3), rule: .sum, dot: dot)
        == .add(result: .int(3), total: .int(3), since: 7))
    #expect(
      Register(.int(10)).write(.int(3), rule: .sum, dot: dot)
        == .add(result: .int(3), total: .int(-7), since: 7))
    #expect(Register(.int(10)).write(nil, rule: .sum, dot: dot) == .put(nil, covered: []))
    #expect(
      Register(.string("x")).write(.int(3), rule: .sum, dot: dot)
        == .put(.int(3), covered: []))
    #expect(
      Register(.int(10)).write(.int(3), rule: .max, dot: dot) == .put(.int(3), covered: []))
    var counted = Register()
    counted.totals = [
      Total(stamp: Stamp(dot: dot, time: 1), born: [], since: 5, total: .int(4))
    ]
    #expect(
      counted.write(.int(6), rule: .sum, dot: Dot(device: dot.device, sequence: 8))
        == .add(result: .int(6), total: .int(6), since: 5))
    #expect(
      counted.write(.int(6), rule: .remote, dot: dot)
        == .put(.int(6), covered: [RunningTotal(device: dot.device, last: 7, total: .int(4))]))
  }
}
