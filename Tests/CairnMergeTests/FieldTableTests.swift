import CairnMerge
import TestSupport
import Testing

/// What two devices' writes of one field make together, under each of the five rules.
struct FieldTableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var old: FieldValue?
    var local: FieldValue?
    var remote: FieldValue?
    /// By the raw value of the rule.
    var results: [FieldValue?]

    init(
      _ old: FieldValue?, _ local: FieldValue?, _ remote: FieldValue?, _ results: FieldValue?...
    ) {
      self.old = old
      self.local = local
      self.remote = remote
      self.results = results
    }

    var testDescription: String {
      "\(old, default: "-"), \(local, default: "-"), \(remote, default: "-")"
    }
  }

  static let rows = [
    // old, local, remote: remote, local, max, min, sum
    Row(nil, .double(1), .double(2), .double(2), .double(1), .double(2), .double(1), .double(3)),
    Row(
      .double(10), .double(12), .double(7),
      .double(7), .double(12), .double(12), .double(7), .double(9)),
    Row(.double(10), nil, .double(7), .double(7), nil, .double(7), nil, .double(7)),
    Row(.double(10), .double(12), nil, nil, .double(12), .double(12), nil, nil),
    Row(.double(10), nil, nil, nil, nil, nil, nil, nil),
    Row(.int(10), .int(12), .int(7), .int(7), .int(12), .int(12), .int(7), .int(9)),
    Row(
      .int(10), .double(12.5), .int(7), .int(7), .double(12.5), .double(12.5), .int(7), .double(9.5)
    ),
    Row(
      .double(10), .string("x"), .double(7),
      .double(7), .string("x"), .string("x"), .double(7), .double(7)),
    Row(
      .double(10), .double(12), .string("x"),
      .string("x"), .double(12), .string("x"), .double(12), .string("x")),
    Row(
      .string("s"), .double(1), .double(2),
      .double(2), .double(1), .double(2), .double(1), .double(2)),
    Row(
      .list([.int(1)]), .list([.int(2)]), .list([.int(3)]),
      .list([.int(3)]), .list([.int(2)]), .list([.int(3)]), .list([.int(2)]), .list([.int(3)])),
  ]

  @Test(arguments: rows, Rule.allCases)
  func `two devices`(row: Row, rule: Rule) throws {
    var pair = Pair(shared: [.insert] + (row.old.map { [.set("a", $0, rule)] } ?? []))
    pair.onRemote(.set("a", row.remote, rule))
    pair.onLocal(.set("a", row.local, rule))
    pair.meet()
    #expect(try #require(pair.met).visible("a", rule: rule) == row.results[Int(rule.rawValue)])
  }

  @Test func `a change of the rule decides anew, and back`() throws {
    var pair = Pair(shared: [.insert])
    pair.onRemote(.set("a", .int(1)))
    pair.onLocal(.set("a", .int(2)))
    pair.meet()
    let met = try #require(pair.met)
    #expect(Rule.allCases.map { met.visible("a", rule: $0) } == [1, 2, 2, 1, 1].map { .int($0) })
  }

  @Test func `ties of min and max go to the first in commit order`() throws {
    var pair = Pair(shared: [.insert])
    pair.onRemote(.set("a", .int(1)))
    pair.onLocal(.set("a", .double(1)))
    pair.meet()
    let met = try #require(pair.met)
    #expect(met.visible("a", rule: .max) == .int(1))
    #expect(met.visible("a", rule: .min) == .int(1))
  }

  @Test func `who has seen a write beats it whatever the clocks say`() throws {
    for rule in Rule.allCases {
      var late = Replica(1, time: 1_000_000)
      var early = Replica(2, time: 0)
      let deltas = [late.write(.insert, .set("a", .string("old"), rule))]
      early.apply(deltas)
      let answer = early.write(.set("a", .string("new"), rule))
      late.apply(answer)
      #expect(late.state("r").visible("a", rule: rule) == .string("new"))
    }
  }

  @Test func `losers are reported with value, device and time`() throws {
    var pair = Pair(shared: [.insert])
    pair.onRemote(.set("a", .int(1)), .set("b", .int(5)), .set("c", .int(3)))
    pair.onLocal(.set("a", .int(2)), .set("b", .int(5)), .set("c", nil))
    pair.meet()
    let met = try #require(pair.met)
    let conflicts = met.conflicts { _ in .remote }
    #expect(conflicts.map(\.field) == ["a", "c"], "equal values have not lost")
    #expect(conflicts[0].visible == .int(1))
    #expect(conflicts[0].losers.map(\.value) == [.int(2)])
    #expect(conflicts[0].losers[0].device == pair.local.device)
    #expect(conflicts[0].losers[0].time == 2_001)
    #expect(conflicts[1].losers.map(\.value) == [nil])
    let added = met.conflicts { _ in .sum }
    #expect(added.map(\.field) == ["a", "c"], "of two puts only the first is counted from")
    #expect(added[0].visible == .int(1) && added[0].losers.map(\.value) == [.int(2)])
  }

  @Test func `a later write settles a conflict`() throws {
    var pair = Pair(shared: [.insert])
    pair.onRemote(.set("a", .int(1)))
    pair.onLocal(.set("a", .int(2)))
    pair.meet()
    pair.onLocal(.set("a", .int(3)))
    pair.meet()
    let met = try #require(pair.met)
    #expect(met.conflicts { _ in .remote }.isEmpty)
    #expect(Rule.allCases.allSatisfy { met.visible("a", rule: $0) == .int(3) })
  }
}
