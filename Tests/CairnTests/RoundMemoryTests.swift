import CairnDisk
import CairnMerge
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// What rounds remember of files and of one another, and for how long.
@Suite struct RoundMemoryTests {
  private let bench = IdentityBench()

  private func entry(_ name: String, version: String = "1") -> FolderEntry {
    FolderEntry(name: name, size: 1, version: version)
  }

  // MARK: heads that say nothing new

  private func memory() -> Exchange.Memory {
    Exchange.Memory(own: Head(datastore: 1, device: DeviceID(rawValue: 1)))
  }

  /// A server may list a new file and still give the old one.
  @Test func `a head that said nothing new is read again, ever more seldom, and then no more`() {
    var memory = memory()
    let file = entry("a.head")
    memory.versions[file.name] = file.version
    let isKnown = memory.hasRead(file)
    #expect(isKnown, "nobody doubts it")
    memory.doubt(file, unless: false)
    var rounds: [Int] = []
    for round in 1...40 {
      if memory.hasRead(file) { continue }
      rounds.append(round)
      memory.doubt(file, unless: false)
    }
    #expect(rounds == [1, 3, 7, 15])
  }

  @Test func `a head that said something new, or is another one, is in no doubt`() {
    var memory = memory()
    let file = entry("a.head")
    memory.versions[file.name] = file.version
    memory.doubt(file, unless: false)
    memory.doubt(file, unless: true)
    let isKnown = memory.hasRead(file)
    #expect(isKnown)
    memory.doubt(file, unless: false)
    let next = entry(file.name, version: "2")
    let isRead = memory.hasRead(next)
    #expect(!isRead, "it was not read yet")
    memory.versions[next.name] = next.version
    let isReadNow = memory.hasRead(next)
    #expect(isReadNow)
  }

  // MARK: files that are not given

  @Test(arguments: [false, true])
  func `a file that is given once was not refused in a row any more`(
    isInParts: Bool
  ) async throws {
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    let exchange = try #require(a.exchanger)
    let path = try #require(bench.folder.paths().first { $0.hasSuffix(".seg") })
    let file = entry(String(path.split(separator: "/").last ?? ""))
    for _ in 0..<2 { exchange.withhold(file, CairnError(.auth, "it may not be read")) }
    exchange.memory.withLock { $0.refusals = 1 }
    #expect(exchange.withheldCount(file) == 2)
    var report = ExchangeReport()
    let isThere: Bool
    if isInParts {
      isThere = try await exchange.readFile(file, from: 0, &report) { _ in }
    } else {
      isThere = try await exchange.readFile(file, 1 << 20, &report) != nil
    }
    #expect(isThere && report.problems == [] && report.waiting == [])
    #expect(exchange.withheldCount(file) == 0)
    let (refusals, known) = exchange.memory.withLock { ($0.refusals, $0.problem(with: file)) }
    #expect(refusals == 0 && known == nil, "nothing stands against it")
  }

  // MARK: snapshots that are needed

  @Test func `a snapshot is joined that was needed for some rounds in a row`() throws {
    let a = try bench.open("a")
    let exchange = try #require(a.exchanger)
    var vector = VersionVector()
    vector[DeviceID(rawValue: 9)] = 3
    let snapshot = Head.Snapshot(
      hash: 1, size: 100, content: 2, vector: vector, fence: VersionVector())
    for _ in 1..<Exchange.patience { #expect(exchange.snapshotToJoin([snapshot], [:]) == nil) }
    // In between it was not: what it is for may be on its way.
    #expect(exchange.snapshotToJoin([], [:]) == nil)
    for _ in 1..<Exchange.patience { #expect(exchange.snapshotToJoin([snapshot], [:]) == nil) }
    #expect(exchange.snapshotToJoin([snapshot], [:]) == snapshot)
  }

  // MARK: the list of datastores

  @Test func `nothing stands against a file of the list that was good in the end`() throws {
    let manager = CatalogueBench().manager("a")
    let exchange = try #require(manager.catalogue)
    let file = entry("1.cat")
    let problem = ExchangeReport.Problem(name: file.name, reason: "it is damaged")
    for _ in 0..<2 { exchange.refuse(file, .problem(problem)) }
    let before = exchange.verdict(on: file) != nil
    #expect(before)
    exchange.forgive(file.name)
    for _ in 0..<4 {
      let isBad = exchange.verdict(on: file) != nil
      #expect(!isBad)
    }
  }

  // MARK: rounds that wait for one another

  /// Tasks that have asked for their turns, in this order, before any of them is cancelled.
  private func queued<R: Sendable>(
    _ count: Int, _ turn: ExchangeTurn,
    _ body: @escaping @Sendable (Int) async -> Result<R, CairnError>
  ) async -> [Task<Result<R, CairnError>, Never>] {
    let begun = Shared(0)
    var tasks: [Task<Result<R, CairnError>, Never>] = []
    for number in 0..<count {
      tasks.append(
        Task { @MainActor in
          begun.withLock { $0 += 1 }
          // Nobody else has the main actor until this waits for its turn, or in it.
          return await turn.run { await body(number) }
        })
      while begun.withLock({ $0 }) <= number { await Task.yield() }
      await MainActor.run {}
    }
    return tasks
  }

  @Test func `closing cancels the round that is under way, and those that wait for it`()
    async throws
  {
    let turn = ExchangeTurn()
    let gate = Shared(false)
    let tasks = await queued(3, turn) { (_: Int) async -> Result<Bool, CairnError> in
      while !gate.withLock({ $0 }) { await Task.yield() }
      return .success(Task.isCancelled)
    }
    turn.cancel()
    gate.withLock { $0 = true }
    for task in tasks { #expect(try await task.value.get()) }
    let next = await turn.run { () async -> Result<Bool, CairnError> in
      .success(Task.isCancelled)
    }
    #expect(try !next.get(), "who comes after that is not concerned")
  }

  @Test func `who leaves the row waits for nobody, and those behind it go on waiting`()
    async throws
  {
    let turn = ExchangeTurn()
    let (gate, begun) = (Shared(false), Told<Int>())
    let tasks = await queued(4, turn) { (number: Int) async -> Result<Int, CairnError> in
      begun.add(number)
      while !gate.withLock({ $0 }) { await Task.yield() }
      return .success(number)
    }
    while begun.all.isEmpty { await Task.yield() }
    for number in [1, 2] {
      tasks[number].cancel()
      let result = await tasks[number].value
      #expect(throws: CairnError.self) { try result.get() }
      #expect(begun.all == [0], "the one before is still at it")
    }
    gate.withLock { $0 = true }
    #expect(try await tasks[0].value.get() == 0)
    #expect(try await tasks[3].value.get() == 3)
    #expect(begun.all == [0, 3])
  }
}
