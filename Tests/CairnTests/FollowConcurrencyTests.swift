import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// A follower that is used by many at once.
@Suite(.timeLimit(.minutes(20)))
struct FollowConcurrencyTests {
  @Test func `pulls, readers, aborts and compactions at once end whole`() async throws {
    let bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.pollSeconds = 0.01...0.01
    let a = try await bench.publisher("a")
    let follower = try await bench.follow("follower", FollowPolicy(tables: .except(["u"])))
    let copy = follower.datastore
    let isOver = Flag()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for n in 0..<40 {
          try a.add("r\(n)")
          try a.add("r\(n)", to: "u")
          try await a.exchange()
        }
        isOver.raise()
      }
      for _ in 0..<2 {
        group.addTask {
          while !isOver.isUp {
            if let error = await follower.pullError() { #expect(error.code == .cancelled) }
          }
        }
      }
      group.addTask {
        while !isOver.isUp { try await follower.follow() }
      }
      group.addTask {
        while !isOver.isUp {
          #expect(try copy.table("u").count == 0)
          let count = try copy.ids().count
          #expect(count <= 41)
          #expect(failure { _ = try copy.table("t").insert([:]) }?.code == .readOnly)
          await Task.yield()
        }
      }
      group.addTask {
        while !isOver.isUp {
          try copy.compact()
          follower.abort()
          await Task.yield()
        }
      }
      // Whoever follows ends by an abort, which may come before its last beginning.
      let ending = Task {
        while !Task.isCancelled {
          if isOver.isUp { follower.abort() }
          do { try await Task.sleep(for: .milliseconds(1)) } catch { return }
        }
      }
      defer { ending.cancel() }
      try await group.waitForAll()
    }
    try await follower.pull()
    #expect(try content(copy) == chosen(try content(a)) { $0 == "t" })
    try follower.close()
  }

  @Test func `a follower that is closed while it pulls ends all that wait`() async throws {
    let bench = try FolderWorkbench()
    bench.options.durability = .none
    let a = try await bench.publisher("a")
    for round in 0..<10 {
      try a.add("r\(round)")
      try await a.exchange()
      let follower = try await bench.follow()
      await withTaskGroup(of: CairnError.Code?.self) { group in
        for _ in 0..<4 { group.addTask { await follower.pullError()?.code } }
        group.addTask {
          do throws(CairnError) { try follower.close() } catch { return error.code }
          return nil
        }
        for await code in group {
          #expect([nil, .cancelled, .closed, .shutdown].contains(code))
        }
      }
      #expect(!follower.isOpen)
    }
    let last = try await bench.follow()
    try await last.pull()
    #expect(try content(last.datastore) == content(a))
  }
}
