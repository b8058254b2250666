import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// One waiting value a subscriber, whoever it is and however slow.
@Suite struct BroadcastTests {
  private let sums = Broadcast<Int>(merge: { $0 += $1 })
  private let states = Broadcast(latest: String.self)

  @Test func `what is not read is merged into one`() async {
    let subscription = sums.subscribe()
    for value in 1...100 { sums.send { value } }
    #expect(subscription.pendingCount == 1)
    #expect(await subscription.next() == 5050)
    #expect(subscription.pendingCount == 0)
    sums.send { 7 }
    #expect(await subscription.next() == 7)
  }

  @Test func `every subscriber sees everything`() async {
    let one = sums.subscribe()
    sums.send { 1 }
    let two = sums.subscribe(current: { 100 })
    sums.send { 2 }
    #expect(await one.next() == 3)
    #expect(await two.next() == 102)
  }

  @Test func `nothing is made when nobody listens`() {
    var made = 0
    func send() {
      sums.send {
        made += 1
        return 1
      }
    }
    send()
    #expect(made == 0 && !sums.isActive)
    let subscription = sums.subscribe()
    send()
    #expect(made == 1 && sums.isActive)
    subscription.end()
    send()
    #expect(made == 1 && !sums.isActive)
  }

  @Test func `a reader that waits gets what is sent`() async {
    let subscription = sums.subscribe()
    async let first = subscription.next()
    async let second = subscription.next()
    await reading(subscription, 2)
    sums.send { 1 }
    sums.send { 2 }
    #expect(await Set([first, second]) == [1, 2])
  }

  /// Returns when so many readers wait.
  private func reading(_ subscription: Subscription<Int>, _ count: Int) async {
    while subscription.readerCount < count { await Task.yield() }
  }

  @Test func `the same state is not read twice in a row`() async {
    let updates = Updates(of: states, current: { "a" })
    var iterator = updates.makeAsyncIterator()
    #expect(await iterator.next() == "a")
    states.send { "b" }
    states.send { "a" }
    states.send { "c" }
    #expect(await iterator.next() == "c")
    states.send { "d" }
    states.send { "c" }
    states.finish()
    #expect(await iterator.next() == nil, "it is what was read last")
  }

  @Test func `what waits can be read after the end, and nothing begins then`() async {
    let subscription = sums.subscribe()
    sums.send { 4 }
    sums.finish()
    sums.send { 5 }
    #expect(await subscription.next() == 4)
    #expect(await subscription.next() == nil)
    #expect(await sums.subscribe(current: { 9 }).next() == nil)
    #expect(!sums.isActive)
  }

  @Test func `the end wakes those who wait`() async {
    let subscription = sums.subscribe()
    async let value = subscription.next()
    await reading(subscription, 1)
    sums.finish()
    #expect(await value == nil)
  }

  @Test func `a cancelled task reads nil and its subscription ends`() async {
    let subscription = sums.subscribe()
    let task = Task { await subscription.next() }
    await reading(subscription, 1)
    task.cancel()
    #expect(await task.value == nil)
    #expect(!sums.isActive)
    sums.send { 1 }
    #expect(subscription.pendingCount == 0)
    #expect(await subscription.next() == nil)
  }

  @Test func `a task that was cancelled before reads nil, too`() async {
    let subscription = sums.subscribe()
    sums.send { 1 }
    let gate = Updates(of: states)
    let task = Task {
      for await _ in gate {}
      return await subscription.next()
    }
    task.cancel()
    #expect(await task.value == nil)
  }

  @Test func `a sequence listens from the moment it is asked for`() async {
    let updates = Updates(of: sums)
    sums.send { 1 }
    var first = updates.makeAsyncIterator()
    var second = updates.makeAsyncIterator()
    sums.send { 2 }
    #expect(await first.next() == 3)
    #expect(await second.next() == 2)
  }

  @Test func `dropping a sequence or an iterator frees the subscription`() async {
    var updates: Updates<Int>? = Updates(of: sums)
    #expect(sums.isActive)
    var iterator = updates?.makeAsyncIterator()
    updates = nil
    #expect(sums.isActive)
    sums.send { 1 }
    #expect(await iterator?.next() == 1)
    iterator = nil
    #expect(!sums.isActive)
    updates = Updates(of: sums)
    updates = nil
    #expect(!sums.isActive)
  }

  @Test func `leaving the loop ends the subscription`() async {
    let updates = Updates(of: sums)
    sums.send { 1 }
    for await value in updates {
      #expect(value == 1)
      break
    }
    #expect(!sums.isActive)
  }

  @Test func `parts of what waits are read one by one`() async {
    let lists = Broadcast<[Int]>(
      merge: { $0 += $1 },
      split: { value in
        let rest = value.dropFirst()
        value = Array(value.prefix(1))
        return rest.isEmpty ? nil : Array(rest)
      })
    let subscription = lists.subscribe()
    lists.send { [1, 2] }
    lists.send { [3] }
    #expect(await subscription.next() == [1])
    lists.send { [4] }
    for expected in 2...4 { #expect(await subscription.next() == [expected]) }
    #expect(subscription.pendingCount == 0)
  }

  // MARK: handlers

  /// Keeps what it is given, to be run by hand.
  private final class Queue: Sendable {
    private let work = Lock<[@Sendable () -> Void]>([])
    var count: Int { work.withLock { $0.count } }
    func add(_ body: @escaping @Sendable () -> Void) { work.withLock { $0.append(body) } }

    func runOne() {
      let body = work.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      body?()
    }
  }

  private final class Values: Sendable {
    private let values = Lock<[Int]>([])
    var all: [Int] { values.withLock { $0 } }
    func add(_ value: Int) { values.withLock { $0.append(value) } }
  }

  @Test func `a handler is scheduled once for all that waits`() {
    let (queue, values) = (Queue(), Values())
    let subscription = sums.subscribe(on: { queue.add($0) }) { values.add($0) }
    for value in 1...10 { sums.send { value } }
    #expect(queue.count == 1 && subscription.pendingCount == 1)
    queue.runOne()
    #expect(values.all == [55] && queue.count == 0)
    sums.send { 1 }
    #expect(queue.count == 1)
    subscription.end()
    queue.runOne()
    #expect(values.all == [55], "an ended one is not called")
  }

  @Test func `a handler may send, at once and on the same thread`() {
    let values = Values()
    let subscription = sums.subscribe(on: { $0() }) { [sums] value in
      values.add(value)
      if value < 5 { sums.send { value + 1 } }
    }
    sums.send { 1 }
    #expect(values.all == [1, 2, 3, 4, 5])
    subscription.end()
  }

  @Test func `a scheduler that calls at once is not called from within itself`() {
    let (values, depths, depth) = (Values(), Told<Int>(), Shared(0))
    let schedule: Scheduler = { body in
      depth.withLock { $0 += 1 }
      depths.add(depth.withLock { $0 })
      body()
      depth.withLock { $0 -= 1 }
    }
    let subscription = sums.subscribe(on: schedule) { [sums] value in
      values.add(value)
      if value < 5 { sums.send { value + 1 } }
    }
    sums.send { 1 }
    #expect(values.all == [1, 2, 3, 4, 5])
    #expect(depths.all == [1, 1, 1, 1, 1])
    subscription.end()
  }

  @Test func `a handler whose subscription ended after the broadcast is not called`() {
    let (queue, kept, ended) = (Queue(), Values(), Values())
    let one = sums.subscribe(on: { queue.add($0) }) { kept.add($0) }
    let two = sums.subscribe(on: { queue.add($0) }) { ended.add($0) }
    sums.send { 1 }
    sums.finish()
    two.end()
    #expect(one.pendingCount == 1 && two.pendingCount == 0 && queue.count == 2)
    while queue.count > 0 { queue.runOne() }
    #expect(kept.all == [1], "what waits at the end still comes")
    #expect(ended.all == [])
    one.end()
  }

  @Test func `an observation ends when it is dropped`() {
    let values = Values()
    var observation: Observation? = Observation(
      sums.subscribe(on: { $0() }, current: { 1 }) { values.add($0) })
    sums.send { 2 }
    #expect(observation != nil && values.all == [1, 2])
    observation = nil
    sums.send { 3 }
    #expect(values.all == [1, 2] && !sums.isActive)
  }

  @Test func `what a handler holds goes with it, even if that is another observation`() {
    weak var held: Observation?
    do {
      let inner = Observation(sums.subscribe(on: { $0() }) { _ in })
      held = inner
      let outer = sums.subscribe(on: { $0() }) { [inner] _ in _ = inner }
      sums.send { 1 }
      outer.end()
    }
    #expect(held == nil && !sums.isActive)
  }

  // MARK: made late

  @Test func `one that is made for its first subscriber is made once`() async {
    let made = Atomic(0)
    let late = LateBroadcast<Int> {
      made.add(1, ordering: .relaxed)
      return Broadcast(merge: { $0 += $1 })
    }
    late.send { 1 }
    // Looked at outside of `#expect`, which would copy it.
    var isActive = late.isActive
    #expect(!isActive && made.load(ordering: .relaxed) == 0)
    let broadcast = late.value
    let (one, two) = (broadcast.subscribe(), late.value.subscribe())
    isActive = late.isActive
    #expect(isActive && made.load(ordering: .relaxed) == 1)
    late.send { 2 }
    late.send { 3 }
    #expect(await one.next() == 5)
    late.finish()
    let values = [await one.next(), await two.next(), await two.next()]
    #expect(values == [nil, 5, nil])
  }

  @Test func `one that ended before it was made ends whoever comes`() async {
    let late = LateBroadcast { Broadcast(latest: Int.self) }
    late.finish()
    let broadcast = late.value
    #expect(await broadcast.subscribe(current: { 1 }).next() == nil)
    late.send { 2 }
    #expect(await broadcast.subscribe().next() == nil)
    #expect(!broadcast.isActive)
  }
}
