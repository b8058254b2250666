import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// A bad read may have been a bad download: the file is read again, ever more seldom.
@Suite struct FolderRetryTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  /// A directory whose files arrive damaged for a while.
  private struct BadLine: Folder {
    struct State: Sendable {
      var suffix: String
      var bad: Int
      var reads = 0
    }
    let base: DirectoryFolder
    let state: Shared<State>

    func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
      try await base.list(directory)
    }

    func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
      let bytes = try await base.read(path, limit: limit)
      let isBad = state.withLock { state in
        guard path.hasSuffix(state.suffix) else { return false }
        state.reads += 1
        state.bad -= 1
        return state.bad >= 0
      }
      return isBad ? bytes.map { $0.flipped(at: $0.count / 2) } : bytes
    }

    func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
      try await base.write(path, bytes)
    }

    func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }
  }

  private func open(_ device: String, _ state: Shared<BadLine.State>) throws -> Datastore {
    let path = bench.folder
    return try DatastoreManager(
      root: bench.root(device), account: Account(user: "ann", folder: .directory(path)),
      folder: { BadLine(base: DirectoryFolder(path), state: state) }, options: bench.options,
      machine: .real
    ).openOrCreateDatastore(bench.id)
  }

  @Test(arguments: ["head", "segment"])
  func `a file that was damaged on its way is read again in the next round`(
    kind: String
  ) async throws {
    let a = try await bench.publisher("a")
    let name = kind == "head" ? bench.head(a) : try bench.segment(a)
    let state = Shared(BadLine.State(suffix: name, bad: 1))
    let b = try open("b", state)
    #expect(try await b.pull().complaints == [name])
    #expect(try b.ids() == [])
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a"])
    // It is known now.
    try await b.pull()
    #expect(state.withLock { $0.reads } == 2)
  }

  @Test(arguments: ["head", "segment"])
  func `a file that stays bad is read ever more seldom, and taken when it is good`(
    kind: String
  ) async throws {
    let a = try await bench.publisher("a")
    let name = kind == "head" ? bench.head(a) : try bench.segment(a)
    let state = Shared(BadLine.State(suffix: name, bad: 5))
    let b = try open("b", state)
    var rounds: [Int] = []
    for round in 1...32 {
      let before = state.withLock { $0.reads }
      #expect(try b.ids() == [])
      #expect(try await b.pull().complaints == (round < 32 ? [name] : []))
      if state.withLock({ $0.reads }) > before { rounds.append(round) }
    }
    #expect(rounds == [1, 2, 4, 8, 16, 32])
    #expect(try b.ids() == ["a"])
  }

  @Test func `the wait between two tries doubles, up to 64 rounds`() {
    var retry = Retry(version: "1")
    var gaps: [Int] = []
    for _ in 0..<9 {
      retry.fail()
      var gap = 1
      while !retry.isDue() { gap += 1 }
      gaps.append(gap)
    }
    #expect(gaps == [1, 2, 4, 8, 16, 32, 64, 64, 64])
  }
}
