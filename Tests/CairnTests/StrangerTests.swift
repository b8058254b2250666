import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Devices that have written and cut before they heard of somebody's cut: they give way, and what
/// they did on top of one another is there all the same.
struct StrangerTests {
  private let bench = IdentityBench()

  private func values(_ device: Datastore) throws -> [Value] {
    try #require(try device.table("t").record("listed")).list("l").values
  }

  private func insert(_ item: String, at index: Int, _ device: Datastore) throws {
    try #require(try device.table("t").record("listed")).list("l").insert(.string(item), at: index)
    try device.sync()
  }

  /// `c` has put an item behind one of `b`, and `a` has settled without having heard of either.
  private func strangers() async throws -> (a: Datastore, b: Datastore, c: Datastore) {
    let a = try bench.open("a")
    try a.table("t").insert(["l": .list(["begin", "end"])], id: "listed")
    try await bench.settle([a])
    let (b, c) = (try bench.open("b"), try bench.open("c"))
    for device in [b, c] {
      try await device.exchange()
      try device.sync()
    }
    try insert("of-b", at: 1, b)
    try await b.exchange()
    try await c.exchange()
    try c.sync()
    try insert("of-c", at: 2, c)
    try #require(try c.table("t").record("listed")).list("l").move(from: 1, to: 0)
    try c.sync()
    try insert("first-of-c", at: 0, c)
    try a.askToForget()
    try a.sync()
    #expect(try values(c) == ["first-of-c", "of-b", "begin", "of-c", "end"])
    return (a, b, c)
  }

  @Test func `items beside those of a stranger who came in before stay where they are`()
    async throws
  {
    let (a, b, c) = try await strangers()
    #expect(try await bench.settle([a, b]), "\(bench.unrest)")
    #expect(try await bench.settle([c, a, b]), "\(bench.unrest)")
    try bench.expectEqual([a, b, c])
    #expect(try values(a) == ["first-of-c", "of-b", "begin", "of-c", "end"])
  }

  @Test func `items beside those of a stranger who has not come in go to the end`() async throws {
    let (a, b, c) = try await strangers()
    #expect(try await bench.settle([a, c]), "\(bench.unrest)")
    #expect(Set(try values(a)) == ["first-of-c", "begin", "of-c", "end"])
    #expect(try await bench.settle([b, a, c]), "\(bench.unrest)")
    try bench.expectEqual([a, b, c])
    let items = try values(a)
    #expect(Set(items) == ["first-of-c", "of-b", "begin", "of-c", "end"])
    #expect(items.count == 5)
  }

  /// Of some of the devices the name is smaller than the founder's, and so is the line of the cut.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `a stranger's cut that can't be sealed is in nobody's way`(seed: UInt64) async throws {
    let bench = IdentityBench(seed: seed)
    let a = try bench.open("a")
    try a.add("of-a")
    try await bench.settle([a])
    let b = try bench.open("b")
    try await b.exchange()
    try b.sync()
    try b.add("of-b")
    try b.askToForget()
    try b.sync()
    try await b.exchange()
    let c = try bench.open("c")
    try await c.exchange()
    try c.sync()
    try c.add("of-c")
    #expect(c.store.cuts.cuts.map(\.isSealed) == [false])
    try a.askToForget()
    try a.sync()
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    let comment: Comment = "seed \(seed)"
    #expect(try await bench.settle([c, b, a]), "\(comment): \(bench.unrest)")
    try bench.expectEqual([a, b, c], comment)
    #expect(try a.ids() == ["of-a", "of-b", "of-c"], comment)
  }

  /// Asked for anew, without the one that has left, it would be agreed on at once, and by a smaller
  /// line all would have to give way to it.
  ///
  /// - Parameter reopens: What it has fetched it has not taken in before its process ended.
  @Test(arguments: 0..<8 as Range<UInt64>, [false, true])
  func `who has to give way does not ask anew for what can't be agreed on`(
    seed: UInt64, reopens: Bool
  ) async throws {
    let bench = IdentityBench(seed: seed)
    let (a, c) = (try bench.open("a"), try bench.open("c"))
    var b = try bench.open("b")
    try c.add("of-c")
    try await c.exchange()
    try await b.exchange()
    try b.sync()
    try b.add("of-b")
    try b.askToForget()
    try b.sync()
    #expect(b.store.cuts.cuts.map(\.isSealed) == [false])
    try a.add("of-a")
    try a.askToForget()
    try a.sync()
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    // The other member leaves its name, and has not heard of what it was asked for.
    let comment: Comment = "seed \(seed)"
    let old = c.device
    #expect(try await bench.settle([a, c]), "\(comment): \(bench.unrest)")
    #expect(c.device != old, comment)
    let names = [a.device, c.device]
    if reopens {
      try await b.exchange()
      try b.close()
      b = try bench.open("b")
      try b.add("more-of-b")
    }
    #expect(try await bench.settle([b, a, c]), "\(comment): \(bench.unrest)")
    #expect([a.device, c.device] == names, comment)
    try bench.expectEqual([a, b, c], comment)
    let all: Set = ["of-a", "of-b", "of-c"]
    #expect(try a.ids() == (reopens ? all.union(["more-of-b"]) : all), comment)
  }

  @Test func `what was put together for a return is put together anew beside a later cut`()
    async throws
  {
    let a = try bench.open("a")
    try a.add("of-a")
    try await bench.settle([a])
    let c = try bench.open("c")
    try await c.exchange()
    try c.sync()
    try c.add("of-c")
    try a.askToForget()
    try a.sync()
    try await a.exchange()
    let b = try bench.open("b")
    try await b.exchange()
    try b.sync()
    #expect(b.store.cuts.cuts.map(\.isSealed) == [true])
    try b.add("of-b")
    try await b.exchange()
    // Fetches the cut, finds that it is cut off, puts together what there is: of-b, too.
    try await c.exchange()
    try c.sync()
    #expect(try await c.exchange().isRejoining)
    // The founder, who has not heard of that, settles once more.
    try a.add("of-a-2")
    try a.askToForget()
    try a.sync()
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])
    try await a.exchange()
    try await c.exchange()
    #expect(try await bench.settle([c, a, b]), "\(bench.unrest)")
    try bench.expectEqual([a, b, c])
    #expect(try a.ids() == ["of-a", "of-a-2", "of-b", "of-c"])
  }
}
