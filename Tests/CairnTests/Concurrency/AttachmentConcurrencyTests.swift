import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Attachments from many threads at once.
@Suite struct AttachmentConcurrencyTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  @Test func `threads attach, read, fetch, exchange and collect at once`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b", .onDemand))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          for index in 0..<6 {
            let seed = UInt64(index % 3 * 10 + worker)
            try a.addPhoto("r\(worker)-\(index)", sample(seed, 400))
            #expect(try a.content(of: "r\(worker)-\(index)") == sample(seed, 400))
          }
        }
      }
      group.addTask { for _ in 0..<6 { try await a.exchange() } }
      group.addTask {
        for _ in 0..<6 { _ = try await a.collectAttachments(graceSeconds: 0) }
      }
      try await group.waitForAll()
    }
    try await a.exchange()
    try await b.pull()
    let uses = try b.attachments()
    #expect(uses.count == 24)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for use in uses {
        group.addTask {
          try await b.attachment(use.id).fetch()
          #expect(try b.attachment(use.id).bytes().count == 400)
        }
      }
      group.addTask { for _ in 0..<3 { try await b.exchange() } }
      try await group.waitForAll()
    }
    #expect(try uses.allSatisfy { try b.attachment($0.id).state == .here })
    try a.close()
    try b.close()
  }

  @Test func `closing ends what is under way with an error, and leaves nothing half`()
    async throws
  {
    let a = try bench.open("a")
    for index in 0..<20 { try a.addPhoto("r\(index)", sample(UInt64(index), 5000)) }
    try await a.exchange()
    let b = try bench.open("b", .onDemand)
    try await b.pull()
    let photos = try b.attachments().map { b.attachment($0.id) }
    let fetching = Task {
      for photo in photos {
        do throws(CairnError) { try await photo.fetch() } catch {
          #expect(error.code == .closed, "\(error)")
          return
        }
      }
    }
    try b.close()
    await fetching.value
    #expect(throws: CairnError.self) { _ = try photos[0].state }
    let again = try bench.open("b")
    try await again.pull()
    try await again.pull()
    #expect(try again.attachments().count == 20)
    for use in try again.attachments() { #expect(try again.attachment(use.id).state == .here) }
  }

  @Test(.timeLimit(.minutes(20)))
  func `who is cancelled waits no more for a content that somebody else waits for`() async throws {
    let gate = FarFolder.Gate()
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    bench.options.attachments = .onDemand
    let b = try bench.open("b", gate)
    try await b.pull()
    let photo = try b.photo("r")
    gate.shut(".blob")
    let tasks = (0..<3).map { _ in
      Task { () -> CairnError.Code? in
        do throws(CairnError) {
          try await photo.fetch()
          return nil
        } catch { return error.code }
      }
    }
    while gate.waiting == 0 { await Task.yield() }
    for waiting in [2, 1] {
      while b.exchanger?.blobs?.flights.withLock({ $0.values.first?.waiting }) != waiting + 1 {
        await Task.yield()
      }
      tasks[waiting].cancel()
      // The content is still held back.
      #expect(await tasks[waiting].value == .cancelled)
    }
    #expect(gate.waiting == 1)
    #expect(try photo.state != .here)
    gate.open(".blob")
    #expect(await tasks[0].value == nil)
    #expect(try b.content(of: "r") == sample(1))
  }
}
