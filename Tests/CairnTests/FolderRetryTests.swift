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
      /// Only a newer version could read what arrives.
      var isNewer = false

      func spoil(_ bytes: [UInt8]) -> [UInt8] {
        guard isNewer else { return bytes.flipped(at: bytes.count / 2) }
        var newer = bytes
        newer[10] = 9
        return suffix.hasSuffix(".seg") ? newer.resummedSegment() : newer.resummed()
      }
    }
    let base: DirectoryFolder
    let state: Shared<State>

    func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
      try await base.list(directory)
    }

    func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
      let bytes = try await base.read(path, limit: limit)
      return state.withLock { state in
        guard path.hasSuffix(state.suffix) else { return bytes }
        state.reads += 1
        state.bad -= 1
        return state.bad >= 0 ? bytes.map { state.spoil($0) } : bytes
      }
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

  /// An app that can read it is another process. Each round says that it takes one.
  @Test(arguments: [("head", 1), ("segment", 2)])
  func `a newer version's file is read ever more seldom, and waited for all the time`(
    kind: String, known: Int
  ) async throws {
    let a = try await bench.publisher("a")
    let name = kind == "head" ? bench.head(a) : try bench.segment(a)
    let size = UInt64(try bench.read(bench.shared + "/" + name).count)
    let state = Shared(BadLine.State(suffix: name, bad: 5, isNewer: true))
    let b = try open("b", state)
    let waiting = ExchangeReport.Waiting(
      name: name, bytes: size,
      reason: "written by a newer version: it needs format 9, this is \(known); update the app")
    var rounds: [Int] = []
    for round in 1...32 {
      let before = state.withLock { $0.reads }
      #expect(try b.ids() == [])
      let report = try await b.pull()
      #expect(report.waiting == (round < 32 ? [waiting] : []) && report.problems == [])
      #expect(b.status.downloading == (round < 32))
      if state.withLock({ $0.reads }) > before { rounds.append(round) }
    }
    #expect(rounds == [1, 2, 4, 8, 16, 32])
    #expect(try b.ids() == ["a"])
  }

  @Test(arguments: ["head", "segment"])
  func `a newer version's file is read at once when it is another one`(kind: String) async throws {
    let a = try await bench.publisher("a")
    let name = kind == "head" ? bench.head(a) : try bench.segment(a)
    let path = bench.shared + "/" + name
    let state = Shared(BadLine.State(suffix: name, bad: 3, isNewer: true))
    let b = try open("b", state)
    for _ in 1...6 { #expect(try await b.pull().waiting.map(\.name) == [name]) }
    #expect(state.withLock { $0.reads } == 3)
    try bench.write(path, try bench.read(path))
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a"])
    #expect(state.withLock { $0.reads } == 4)
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
