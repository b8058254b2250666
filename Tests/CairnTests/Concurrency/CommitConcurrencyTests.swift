import CairnDisk
import CairnMerge
import CairnStore
import Synchronization
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Committers on many threads over a disk whose syncs take their time.
@Suite struct CommitConcurrencyTests {
  private let disk = MemoryDisk()

  private func open(
    _ disk: MemoryDisk, _ change: (inout StoreOptions) -> Void = { _ in }
  ) throws -> Store {
    var options = StoreOptions()
    options.compactsAutomatically = false
    change(&options)
    return try Store.open(
      "/store", datastore: 1, isLinked: true, options: options,
      machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1)))
  }

  private func slowSyncs() -> Counter {
    let syncs = Counter()
    disk.intercept { operation in
      if operation.verb == "sync" {
        syncs.add()
        usleep(2000)
      }
      return nil
    }
    return syncs
  }

  private final class Counter: Sendable {
    private let number = Atomic<Int>(0)
    var value: Int { number.load(ordering: .relaxed) }
    func add() { number.wrappingAdd(1, ordering: .relaxed) }

    /// Not for ever: a test that fails has to end.
    func wait(for count: Int) {
      for _ in 0..<100_000 where value < count { usleep(100) }
    }
  }

  /// Ids whose commits were acknowledged, and what went wrong.
  private final class Record: Sendable {
    private let state = Lock<(acknowledged: [String], failures: [String])>(([], []))
    var acknowledged: [String] { state.withLock { $0.acknowledged } }
    var failures: [String] { state.withLock { $0.failures } }
    func acknowledge(_ id: String) { state.withLock { $0.acknowledged.append(id) } }
    func fail(_ text: String) { state.withLock { $0.failures.append(text) } }
  }

  private func start(
    _ count: Int, _ record: Record, _ body: @escaping @Sendable (Int) throws -> Void
  ) -> [BackgroundThread?] {
    (0..<count).map { number in
      BackgroundThread {
        do { try body(number) } catch { record.fail("\(error)") }
      }
    }
  }

  private func commit(_ store: Store, _ thread: Int, _ index: Int, _ record: Record) throws {
    let id = "r\(thread)-\(index)"
    try store.insert(table: "t", id: RecordName(id), [("n", .int(Int64(index)))])
    _ = try store.sync()
    record.acknowledge(id)
  }

  private func missing(_ record: [String], on disk: MemoryDisk) throws -> [String] {
    let store = try open(disk)
    let found = Set(try store.query(table: "t", []).map(\.text))
    try store.close()
    return record.filter { !found.contains($0) }
  }

  @Test func `committers that wait share one sync`() throws {
    let store = try open(disk)
    let record = Record()
    let syncs = slowSyncs()
    let threads = start(8, record) { thread in
      for index in 0..<25 { try commit(store, thread, index, record) }
    }
    for thread in threads { thread?.join() }
    #expect(record.failures == [])
    #expect(record.acknowledged.count == 200)
    #expect(syncs.value < 120, "\(syncs.value) syncs for 200 commits")
    disk.heal()
    #expect(try missing(record.acknowledged, on: disk.crash(keep: .nothingUnsynced)) == [])
    try store.close()
  }

  @Test func `what is written during a sync is made durable by the next one, all at once`() throws {
    let store = try open(disk)
    let record = Record()
    try commit(store, 9, 0, record)
    let (syncs, frames) = (Counter(), Counter())
    disk.intercept { operation in
      if operation.verb == "write" { frames.add() }
      if operation.verb == "sync" {
        // The first one takes until all have written their frames.
        if syncs.value == 0 { frames.wait(for: 5) }
        syncs.add()
      }
      return nil
    }
    for thread in start(5, record, { try commit(store, $0, 0, record) }) { thread?.join() }
    #expect(record.failures == [])
    #expect(record.acknowledged.count == 6)
    // One, if all were there before the first began.
    #expect(syncs.value == 1 || syncs.value == 2)
    disk.heal()
    #expect(try missing(record.acknowledged, on: disk.crash(keep: .nothingUnsynced)) == [])
    try store.close()
  }

  @Test func `a sync that fails fails all who waited for it, and all who come later`() throws {
    let store = try open(disk)
    let record = Record()
    try commit(store, 9, 0, record)
    let frames = Counter()
    disk.intercept { operation in
      if operation.verb == "write" { frames.add() }
      guard operation.verb == "sync" else { return nil }
      frames.wait(for: 4)
      return .io(errno: EIO)
    }
    for thread in start(4, record, { try commit(store, $0, 0, record) }) { thread?.join() }
    #expect(record.failures.count == 4)
    #expect(record.acknowledged.count == 1)
    disk.heal()
    #expect(throws: StoreError.self) { try commit(store, 9, 1, record) }
  }

  @Test func `what is acknowledged is durable while segments end and compactions run`() throws {
    let store = try open(disk) { $0.segmentBytes = 1000 }
    let record = Record()
    _ = slowSyncs()
    let isOver = Flag()
    let committers = start(4, record) { thread in
      for index in 0..<40 { try commit(store, thread, index, record) }
    }
    let compactors = start(1, record) { _ in
      while !isOver.isUp { _ = try store.compact() }
    }
    for _ in 0..<10 {
      usleep(5000)
      let before = record.acknowledged
      #expect(try missing(before, on: disk.crash(keep: .nothingUnsynced)) == [])
    }
    for thread in committers { thread?.join() }
    isOver.raise()
    for thread in compactors { thread?.join() }
    #expect(record.failures == [])
    disk.heal()
    try store.close()
    #expect(try missing(record.acknowledged, on: disk) == [])
    #expect(record.acknowledged.count == 160)
  }

  @Test func `closing under committers loses nothing that was acknowledged`() throws {
    for round in 0..<5 {
      let disk = MemoryDisk()
      let store = try open(disk)
      let record = Record()
      disk.intercept { operation in
        if operation.verb == "sync" { usleep(1000) }
        return nil
      }
      let threads = start(4, record) { thread in
        for index in 0..<1000 { try commit(store, thread, index, record) }
      }
      // On a busy machine the threads take their time to begin.
      while record.acknowledged.isEmpty, record.failures.isEmpty { usleep(1000) }
      usleep(UInt32(round * 2000))
      try store.close()
      for thread in threads { thread?.join() }
      #expect(record.failures.allSatisfy { $0.contains("closed") }, "\(record.failures)")
      #expect(!record.acknowledged.isEmpty)
      disk.heal()
      let left = disk.crash(keep: .nothingUnsynced)
      #expect(try missing(record.acknowledged, on: left) == [])
    }
  }
}
