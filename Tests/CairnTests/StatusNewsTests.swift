import TestSupport
import Testing

@testable import Cairn

/// Changes of the status that no record's change tells.
@Suite(.timeLimit(.minutes(20))) struct StatusNewsTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  @Test func `a device to be retired is outgoing, and is told`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    try await bench.meet(a, b)
    var updates = a.statusChanges.makeAsyncIterator()
    #expect(await updates.next()?.outgoing == false)
    try a.retireDevice(b.device)
    #expect(await updates.next()?.outgoing == true)
    try a.rollback()
    #expect(await updates.next()?.outgoing == false)
    try a.retireDevice(b.device)
    #expect(await updates.next()?.outgoing == true)
    try a.sync()
    #expect(await updates.next()?.outgoing == false)
  }

  @Test func `loops over changes end with a delete elsewhere, those over the status later`()
    async throws
  {
    let a = try await bench.publisher("a")
    let (changes, statuses) = (a.changes, a.statusChanges)
    let told = Told<Bool>()
    let observation = a.observe(on: { $0() }) { told.add($0.isLocal) }
    try a.table("t")["a"].set("n", 1)
    a.markDeleted()
    var count = 0
    for await _ in changes { count += 1 }
    #expect(count == 1, "what waits can still be read")
    for await _ in a.changes { Issue.record("nothing changes any more") }
    var iterator = statuses.makeAsyncIterator()
    #expect(await iterator.next()?.needsReset == true)
    try a.close()
    while let status = await iterator.next() { #expect(status.needsReset) }
    #expect(told.all == [true])
    observation.cancel()
  }
}
