import CairnDisk
import CairnLog
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// What a device knows of its own files in the folder, says of them, and does with them.
@Suite struct OwnFilesNoteTests {
  private let bench = IdentityBench()

  private func path(_ suffix: String) throws -> String {
    try #require(bench.folder.paths().first { $0.hasSuffix(suffix) })
  }

  private func head(_ device: Datastore) throws -> Head {
    let path = try path(".head")
    return try Head(
      try #require(bench.folder.bytes(path)), name: path, datastore: device.store.datastore)
  }

  /// PUBLISHED, as the next process finds it.
  private func published() throws -> PublicationFile {
    try #require(PublicationFile.readable("/root/p-notes", disk: bench.disk("a")))
  }

  /// No answer came to its upload, and it was found in the folder later.
  @Test func `a head that was read back counts as confirmed when the next one is on its way`()
    async throws
  {
    let script = ScriptedFolder.Script()
    bench.scripts["a"] = script
    let a = try bench.open("a")
    try a.add("1")
    try await a.exchange()
    let first = try head(a).nonce
    #expect(try published().confirmedNonce == first)
    bench.clock.advance(by: 1000)
    try a.add("2")
    script.write { path, _ in path.hasSuffix(".head") ? .unanswered : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    let second = try head(a).nonce
    #expect(second != first)
    #expect(try published().confirmedNonce == first)
    #expect(try published().pendingNonce == second)
    bench.clock.advance(by: 1000)
    try a.add("3")
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    #expect(try head(a).nonce == second, "the third did not arrive")
    let left = try published()
    #expect(left.pendingNonce != second)
    #expect(left.confirmedNonce == second, "it is still known which one is there")
    script.write(nil)
    try await a.exchange()
    #expect(try published().confirmedNonce == head(a).nonce)
    #expect(try head(a).last == a.committedDeltas)
  }

  @Test(arguments: [true, false])
  func `a snapshot that is too short in the folder is named as damaged`(
    dryRun: Bool
  ) async throws {
    // A snapshot is due whenever there is one.
    bench.options.tuning.smallFileBytes = 0
    let a = try bench.open("a")
    try a.add("a")
    try await a.exchange()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let path = try path(".snap")
    let bytes = try #require(bench.folder.bytes(path))
    try bench.folder.setBytes(path, [UInt8](bytes.prefix(100)))
    let repair = try await a.repairFolder(dryRun: dryRun)
    let name = String(path.split(separator: "/").last ?? "")
    let reason = "it has 100 bytes instead of \(bytes.count)"
    #expect(repair.damaged == [FolderRepair.Damage(name: name, reason: reason)])
    #expect(repair.checkedFiles == 1, "it need not be read for that")
    #expect(!repair.wasWhole && repair.missing == [] && repair.unread == [])
    #expect(repair.isWhole != dryRun)
    #expect(try await a.repairFolder(dryRun: true).wasWhole != dryRun)
  }

  /// What is merged takes fewer places in the head: what comes after it is looked at as well.
  @Test func `runs of small files before and behind a large one are merged in one round`()
    async throws
  {
    bench.options.tuning.smallFileBytes = 8 << 10
    bench.options.tuning.smallFileRun = 100
    var a = try bench.open("a")
    for number in 0..<17 {
      if number == 8 {
        try a.table("t").insert(["b": .bytes(SeededRandom(1).bytes(20_000))], id: "large")
        try a.sync()
      } else {
        try a.add("r\(number)")
      }
      try await a.exchange()
    }
    #expect(try head(a).segments.count == 17)
    try a.close()
    bench.options.tuning.smallFileRun = 8
    a = try bench.open("a")
    try a.add("last")
    let report = try await a.exchange()
    #expect(report.mergedFiles == 17 && report.problems == [])
    #expect(try head(a).segments.count == 3)
    let b = try bench.open("b")
    try await b.pull()
    let ids = try a.ids()
    #expect(try b.ids() == ids)
    #expect(ids.count == 18)
  }
}
