import CairnMerge
import TestSupport
import Testing

/// The smallest histories that break a simpler rule than the one we have.
struct CounterexampleTests {
  /// Were totals compared without `since`: the first device has forgotten its old additions with
  /// the put that contained them and counts from zero; the third one has not, and would subtract
  /// them once more.
  @Test func `a device that has forgotten its total begins a new run`() {
    var (a, b, c) = (Replica(1), Replica(2), Replica(3))
    let shared = [a.write(.insert, .set("n", .int(5), .sum))]
    b.apply(shared)
    c.apply(shared)
    let put = b.write(.set("n", .int(10)))
    a.apply(put)
    c.apply(put)
    a.prune(a.horizon.seen)
    let (one, two) = (
      a.write(.set("n", .int(11), .sum)), b.write(.set("n", .int(12), .sum))
    )
    a.apply(two)
    c.apply([one, two])
    #expect(a.state("r").visible("n", rule: .sum) == .int(13))
    #expect(c.state("r").visible("n", rule: .sum) == .int(13))
  }

  /// Were a put to name only the totals that are still there: the first put has taken the total of
  /// 5 out, so that the second one would not know that it contains it.
  @Test func `a put passes on what the put before it had seen`() {
    var (a, b) = (Replica(1), Replica(2))
    let shared = a.write(.insert, .set("n", .int(5), .sum))
    b.apply(shared)
    let puts = [b.write(.set("n", .int(10))), b.write(.set("n", .int(20)))]
    let add = a.write(.set("n", .int(6), .sum))
    a.apply(puts)
    b.apply(add)
    #expect(a.state("r").visible("n", rule: .sum) == .int(21))
    #expect(b.records == a.records)
  }

  /// Were content to settle while a delete waits for the fence: `c` has deleted what `a` inserted
  /// before it heard of `b`, so 2 stands alone there and would settle. `a` still holds both 1 and
  /// 2 and could not know which of them the settled one is.
  @Test func `nothing settles while a delete waits`() {
    var (a, b, c) = (Replica(1), Replica(2, time: 10), Replica(3))
    let shared = a.write(.insert)
    b.apply(shared)
    c.apply(shared)
    let one = a.write(.delete, .insert, .set("x", .int(1)))
    let two = b.write(.delete, .insert, .set("x", .int(2)))
    a.apply(two)
    b.apply(one)
    c.apply(one)
    _ = c.write(.delete)
    c.apply(two)
    for other in [a, b] { c.acknowledgements[other.device] = other.acknowledgement }
    c.prune(c.stable([a.device, b.device, c.device]))
    #expect(c.horizon.fence == a.horizon.seen)
    #expect(joined(a, c) == joined(c, a))
    #expect(joined(a, c).state("r").visible("x", rule: .remote) == .int(2))
  }

  /// Were an update born only of the inserts that it sees: here two deletes have taken one insert
  /// each, and only the value that had seen both inserts keeps the record alive. An update of it
  /// would be born of nothing, and die by a delete that the value it replaces survives.
  @Test func `an update is born of the values that it sees, too`() {
    var (a, b) = (Replica(1), Replica(2))
    let shared = a.write(.insert)
    b.apply(shared)
    var deleter = a
    let one = a.write(.delete, .insert)
    let two = b.write(.delete, .insert)
    var (onlyOne, onlyTwo, late) = (Replica(3), Replica(4), Replica(5))
    onlyOne.apply([shared, one])
    late.apply([shared, one])
    onlyTwo.apply([shared, two])
    a.apply(two)
    let value = a.write(.set("x", .int(1)))
    let deletes = [onlyOne.write(.delete), onlyTwo.write(.delete)]
    a.apply(deletes)
    #expect(a.state("r").presences.isEmpty)
    #expect(a.state("r").visible("x", rule: .remote) == .int(1))
    let update = a.write(.set("x", .int(2)))
    a.apply(late.write(.delete))
    #expect(a.state("r").visible("x", rule: .remote) == .int(2))
    deleter.apply([one, two, value] + deletes + [update])
    #expect(deleter.state("r").exists)
  }

  /// Were base values forgotten with their entries: additions say only what they add.
  @Test func `a base outlives its entry`() {
    var (a, b) = (Replica(1), Replica(2))
    let shared = a.write(.insert, .set("n", .int(10)))
    b.apply(shared)
    let (one, two) = (a.write(.set("n", .int(11), .sum)), b.write(.set("n", .int(12), .sum)))
    a.apply(two)
    b.apply(one)
    #expect(a.state("r").visible("n", rule: .sum) == .int(13))
    #expect(a.records == b.records)
  }

  /// Were losers dropped behind the fence: a change of the rule asks for them.
  @Test func `losers stay behind the fence`() {
    var (a, b) = (Replica(1, time: 1), Replica(2, time: 2))
    let shared = a.write(.insert)
    b.apply(shared)
    let (one, two) = (a.write(.set("x", .int(1))), b.write(.set("x", .int(2))))
    a.apply(two)
    b.apply(one)
    a.prune(a.horizon.seen)
    #expect(a.state("r").visible("x", rule: .local) == .int(2))
    #expect(a.state("r").visible("x", rule: .remote) == .int(1))
  }

  /// Were settled content always taken for known: a device that starts from another's state has
  /// seen nothing, and would drop it.
  @Test func `an empty state takes over a settled one`() {
    var a = Replica(1)
    _ = a.write(.insert, .set("x", .int(1)), .set("n", .int(2), .sum))
    a.prune(a.horizon.seen)
    let b = Replica(2)
    #expect(joined(b, a) == a)
    #expect(joined(a, b) == a)
  }
}
