import CairnDisk
import CairnStore
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Many writers, many readers of what they do, and ends in the middle.
@Suite struct ObservationConcurrencyTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  private func local() throws -> Datastore {
    var options = Options()
    options.durability = .none
    return try DatastoreManager(root: place.path + "/root", options: options)
      .openDefaultDatastore()
  }

  /// Real threads, all at once, while tasks go on; what they throw is a failure.
  private func threads(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Void
  ) async throws {
    let failures = Told<String>()
    let ended = Told<Int>()
    let threads = (0..<count).map { number in
      BackgroundThread {
        do { try body(number) } catch { failures.add("thread \(number): \(error)") }
        ended.add(number)
      }
    }
    while ended.all.count < count { await Task.yield() }
    for thread in threads { try #require(thread).join() }
    #expect(failures.all == [])
  }

  // MARK: the broadcast

  @Test func `every subscriber gets all that many threads send`() async throws {
    let sums = Broadcast<Int>(merge: { $0 += $1 })
    let readers = (0..<6).map { _ in
      let subscription = sums.subscribe()
      return Task {
        var sum = 0
        while let value = await subscription.next() { sum += value }
        return sum
      }
    }
    let idle = sums.subscribe()
    let called = Told<Int>()
    let handler = sums.subscribe(on: { $0() }) { called.add($0) }
    try await threads(6) { _ in
      for _ in 0..<500 {
        sums.send { 1 }
        #expect(idle.pendingCount == 1, "and never more")
      }
    }
    sums.finish()
    for reader in readers { #expect(await reader.value == 3000) }
    #expect(await idle.next() == 3000)
    #expect(await idle.next() == nil)
    #expect(called.all.reduce(0, +) == 3000)
    handler.end()
  }

  @Test func `values that are made in order are read in order`() async throws {
    let next = Shared(0)
    let states = Broadcast(latest: Int.self)
    let readers = (0..<4).map { _ in
      let updates = Updates(of: states, current: { 0 })
      return Task {
        var seen: [Int] = []
        for await value in updates { seen.append(value) }
        return seen
      }
    }
    try await threads(4) { _ in
      for _ in 0..<500 {
        states.send {
          next.withLock {
            $0 += 1
            return $0
          }
        }
      }
    }
    states.finish()
    for reader in readers {
      let seen = await reader.value
      #expect(seen.last == 2000)
      #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
    }
  }

  @Test func `subscribers that come and go leave nothing behind`() async throws {
    let sums = Broadcast<Int>(merge: { $0 += $1 })
    weak var dropped: Subscription<Int>?
    do {
      let subscription = sums.subscribe()
      dropped = subscription
    }
    let isDone = Told<Bool>()
    let churn = Task {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask {
            while isDone.all.isEmpty {
              let updates = Updates(of: sums)
              var iterator = updates.makeAsyncIterator()
              if number % 2 == 0 {
                let task = Task { for await _ in updates {} }
                await Task.yield()
                task.cancel()
                await task.value
              } else {
                _ = await iterator.next()
              }
            }
          }
        }
      }
    }
    try await threads(4) { _ in
      for index in 0..<400 {
        sums.send { 1 }
        let observation = Observation(sums.subscribe(on: { $0() }) { _ in })
        if index % 2 == 0 { observation.cancel() }
      }
    }
    isDone.add(true)
    while sums.isActive { sums.send { 1 }; await Task.yield() }
    await churn.value
    #expect(dropped == nil && !sums.isActive)
  }

  // MARK: changes

  /// What a reader of changes knows of a table, by reading the records that are named.
  private static func mirror(
    _ table: Table, _ updates: Updates<DatastoreChange>, _ told: Shared<[RecordID: Value]>
  ) async {
    for await change in updates where change.affects(table.id) {
      do {
        let ids = try change.records(in: table.id) ?? Set(table.query().map(\.id))
        for id in ids {
          let value = try table[id].get("n")
          told.withLock { $0[id] = value }
        }
      } catch { return }
    }
  }

  private static func content(_ table: Table) throws -> [RecordID: Value] {
    var content: [RecordID: Value] = [:]
    for record in try table.query() { content[record.id] = try record.get("n") }
    return content
  }

  private static func edit(_ table: Table, _ thread: Int, _ index: Int) throws {
    let id = RecordID("r\((thread * 7 + index * 13) % 40)")
    do throws(CairnError) {
      switch index % 5 {
      case 0: try table[id].delete()
      case 1, 2: try table.insert(["n": .int(Int64(index))], id: id)
      default: try table[id].set("n", .int(Int64(thread * 1000 + index)))
      }
      if index % 50 == 49 { try table.datastore.sync() }
      if index % 70 == 69 { try table.datastore.rollback() }
    } catch {
      // Another thread was quicker.
      if error.code != .exists && error.code != .deleted { throw error }
    }
  }

  @Test func `whoever reads what is named knows in the end what is there`() async throws {
    let datastore = try local()
    let table = try datastore.table("t")
    let mirrors = (0..<4).map { _ in Shared<[RecordID: Value]>([:]) }
    let tasks = mirrors.map { mirror in
      let updates = datastore.changes
      return Task { await ObservationConcurrencyTests.mirror(table, updates, mirror) }
    }
    let idle = datastore.observers.changes.subscribe()
    try await threads(4) { thread in
      for index in 0..<300 {
        try ObservationConcurrencyTests.edit(table, thread, index)
        #expect(idle.pendingCount <= 1)
      }
    }
    idle.end()
    while !datastore.observers.changes.isAtRest { await Task.yield() }
    let expected = try ObservationConcurrencyTests.content(table)
    for mirror in mirrors { #expect(mirror.withLock { $0 } == expected) }
    try datastore.close()
    for task in tasks { await task.value }
  }

  @Test func `a subscriber that is told reads at least that change`() async throws {
    let datastore = try local()
    let record = try datastore.table("t").insert(["n": 0], id: "r")
    let written = Atomic<Int>(0)
    let missed = Told<String>()
    let observations = (0..<3).map { _ in
      datastore.observe(on: { $0() }) { _ in
        // What was written before this thread's own change is told by now, or will be.
        let known = written.load(ordering: .acquiring)
        do {
          let seen = try record.int("n") ?? -1
          if seen < known { missed.add("\(seen) after \(known)") }
        } catch { missed.add("\(error)") }
      }
    }
    try await threads(1) { _ in
      for index in 1...1000 {
        try record.set("n", .int(Int64(index)))
        written.store(index, ordering: .releasing)
      }
    }
    #expect(missed.all == [])
    for observation in observations { observation.cancel() }
    #expect(!datastore.observers.changes.isActive)
  }

  // MARK: live queries

  /// A reader that applies the steps to its own list.
  private static func follow(_ live: LiveQuery, _ list: Shared<[RecordID]>) async -> CairnError? {
    do throws(CairnError) {
      for try await update in live {
        let isSame = list.withLock { list in
          for change in update.changes {
            switch change {
            case .removed(_, let index): list.remove(at: index)
            case .moved(let record, let from, let to):
              list.remove(at: from)
              list.insert(record.id, at: to)
            case .inserted(let record, let index): list.insert(record.id, at: index)
            default: break
            }
          }
          return list == update.records.map(\.id)
        }
        if !isSame { return CairnError(.internal, "the steps lead elsewhere") }
      }
      return nil
    } catch { return error }
  }

  @Test func `live queries end up with what is there`() async throws {
    let datastore = try local()
    let table = try datastore.table("t")
    let queries = [
      Query().sorted(by: "n"), Query().where("n", .greater(500)).sorted(by: "n", .descending),
      Query().sorted(by: "n").skip(3).limit(5), Query(),
    ]
    let lists = queries.map { _ in Shared<[RecordID]>([]) }
    var tasks: [Task<CairnError?, Never>] = []
    for (query, list) in zip(queries, lists) {
      let live = try table.live(query)
      tasks.append(Task { await ObservationConcurrencyTests.follow(live, list) })
    }
    try await threads(3) { thread in
      for index in 0..<200 { try ObservationConcurrencyTests.edit(table, thread, index) }
    }
    let observers = datastore.observers.changes
    while observers.subscriberCount < 4 || !observers.isAtRest { await Task.yield() }
    for (query, list) in zip(queries, lists) {
      var fresh = try table.live(query).makeAsyncIterator()
      #expect(try await fresh.next()?.records.map(\.id) == list.withLock { $0 })
    }
    try datastore.close()
    for task in tasks { #expect(await task.value == nil) }
  }

  /// Two records are always changed in pairs, by one thread: the first is never behind.
  @Test func `a live result is the state of one moment`() async throws {
    let datastore = try local()
    let table = try datastore.table("t")
    let live = try table.live(Query().where("on", .equals(true)))
    let reader = Task { () async throws -> [[String]] in
      var seen: [[String]] = []
      for try await update in live { seen.append(update.records.map(\.id.description)) }
      return seen
    }
    for id in ["a", "b"] { try table.insert(["on": false], id: RecordID(id)) }
    try await threads(1) { _ in
      for _ in 0..<500 {
        try table["a"].set("on", true)
        try table["b"].set("on", true)
        try table["b"].set("on", false)
        try table["a"].set("on", false)
      }
    }
    try datastore.close()
    let seen = try await reader.value
    #expect(!seen.contains(["b"]), "b is never on without a")
  }

  // MARK: status and ends

  @Test func `the last status that is read is the status`() async throws {
    let folder = FolderLocation.directory(place.path + "/folder")
    let datastores = try ["a", "b"].map { device in
      try DatastoreManager(
        root: place.path + "/" + device, account: Account(user: "ann", folder: folder)
      ).openOrCreateDatastore("notes")
    }
    let last = datastores.map { _ in Shared<DatastoreStatus?>(nil) }
    let tasks = zip(datastores, last).map { datastore, last in
      let updates = datastore.statusChanges
      return Task { for await status in updates { last.withLock { $0 = status } } }
    }
    for round in 0..<8 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, datastore) in datastores.enumerated() {
          group.addTask {
            let table = try datastore.table("t")
            for index in 0..<5 { try table.insert(["n": .int(Int64(index))]) }
            if (round + number) % 3 == 0 { try datastore.rollback() }
            try datastore.sync()
          }
          group.addTask { try await datastore.exchange() }
          group.addTask { try datastore.sync() }
        }
        try await group.waitForAll()
      }
    }
    for (datastore, last) in zip(datastores, last) {
      while !datastore.observers.statuses.isAtRest { await Task.yield() }
      #expect(last.withLock { $0 } == datastore.status)
      try datastore.close()
    }
    for task in tasks { await task.value }
  }

  @Test func `closing in the middle ends everything and frees it`() async throws {
    weak var held: Datastore?
    do {
      let datastore = try local()
      held = datastore
      let table = try datastore.table("t")
      let changes = datastore.changes
      let statuses = datastore.statusChanges
      let live = try table.live(Query().sorted(by: "n"))
      let list = Shared<[RecordID]>([])
      let handler = datastore.observe(on: { $0() }) { _ in }
      async let changed: Void = { for await _ in changes {} }()
      async let told: Void = { for await _ in statuses {} }()
      async let followed = ObservationConcurrencyTests.follow(live, list)
      try await threads(4) { thread in
        do {
          for index in 0..<400 {
            try ObservationConcurrencyTests.edit(table, thread, index)
            if thread == 0, index == 200 { try datastore.close() }
          }
        } catch let error as CairnError where error.code == .closed {}
      }
      await changed
      await told
      #expect(await followed == nil)
      handler.cancel()
    }
    #expect(held == nil)
  }
}
