import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Devices that give way, and files of theirs in the folder that are not what they were.
@Suite struct RetirementFilesTests {
  private let bench = IdentityBench(seed: 57)

  @Test func `a device that gives way waits for a file of its own that is damaged just now`()
    async throws
  {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let before = try bench.open("away")
    try a.add("begin")
    try await bench.settle([a, b, before])
    try before.close()
    // What it publishes now nobody sees before it was retired.
    bench.use(bench.folder.snapshot(), for: "folder apart")
    bench.view("apart", of: "away")
    let apart = try bench.open("away")
    let name = apart.device
    for number in 0..<4 {
      try apart.add("mine\(number)")
      try await apart.exchange()
    }
    // These are in the folder only from here on, and in the snapshot.
    try apart.compact()
    try apart.add("last")
    try apart.close()
    try a.retireDevice(name)
    try await bench.settle([a, b])
    #expect(a.store.cuts.cuts.map(\.isSealed) == [true])

    let own = bench.disk("folder apart").paths().filter { $0.contains("/\(name)") }
    for path in own {
      try bench.folder.setBytes(path, try #require(bench.disk("folder apart").bytes(path)))
    }
    let files = own.filter { $0.hasSuffix(".seg") }.sorted()
    try #require(files.count == 4)
    try bench.folder.corrupt(files[1], 70, xor: 1)
    bench.use(bench.folder, for: "folder all")
    bench.view("all", of: "away")
    let away = try bench.open("away")
    for _ in 0..<3 {
      try await away.exchange()
      try away.sync()
    }
    #expect(away.device == name)
    let all: Set<String> = ["begin", "mine0", "mine1", "mine2", "mine3", "last"]
    #expect(try away.ids() == all)

    try bench.folder.corrupt(files[1], 70, xor: 1)
    bench.clock.advance(by: 86_400_000)
    #expect(try await bench.settle([away, a, b]), "\(bench.unrest)")
    try bench.expectEqual([a, b, away])
    #expect(away.device != name)
    #expect(try a.ids() == all)
  }
}
