import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What is fetched by processes that end in their first round, once another branch was taken over.
@Suite struct ForkInboxTests {
  private func inbox(_ disk: MemoryDisk) -> [String] {
    disk.paths().filter { $0.contains("/inbox/") && $0.hasSuffix(".seg") }.map(name)
  }

  private func name(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? ""
  }

  /// A switch is durable, and CHAINS is not: after a power cut it is the old one.
  @Test func `what came after a switch is thrown away by no opening`() async throws {
    let scene = try await ForkScene()
    let (bench, script) = (scene.bench, ScriptedFolder.Script())
    try await scene.work(scene.a, "a", count: 2)
    try await scene.work(scene.b, "b", count: 1)
    try await scene.readers[0].pull()
    try scene.merge(winner: "two")
    let (disk, chains) = (bench.disk("c"), "/root/p-notes/" + FileName.chains)
    let before = try #require(disk.bytes(chains))
    #expect(try await scene.readers[0].pull().isRejoining)
    try #require(scene.readers[0].exchanger?.isRejoining == false)
    try scene.readers[0].close()
    try disk.setBytes(chains, before)
    try await scene.work(scene.b, "later", count: 2)
    bench.scripts["c"] = script
    scene.readers[0] = try bench.open("c")
    let (reads, killed) = (Told<String>(), Shared<MemoryDisk?>(nil))
    script.read { path, bytes in
      guard path.hasSuffix(".seg") else { return bytes }
      reads.add(path)
      if reads.all.count == 2 { killed.withLock { $0 = disk.snapshot() } }
      return bytes
    }
    try await scene.readers[0].exchange()
    let copy = try #require(killed.withLock { $0 })
    try #require(reads.all.count == 2)
    bench.use(copy, for: "late")
    for _ in 0..<2 {
      let late = try bench.open("late")
      #expect(inbox(copy) == [name(reads.all[0])])
      try late.close()
    }
  }
}
