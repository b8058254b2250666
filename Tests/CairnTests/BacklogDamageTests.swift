import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// A backlog of which something has become damaged here before it was published.
struct BacklogDamageTests {
  @Test func `others hear what is before the damage, and each round names it`() async throws {
    let bench = try FolderWorkbench()
    bench.options.tuning.packBytes = 30_000
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let random = SeededRandom(5)
    for number in 0..<30 {
      try a.table("t").insert(
        ["bytes": .bytes(random.bytes(10_000))], id: RecordID("r\(number)"))
      try a.sync()
    }
    let path = bench.root("a") + "/p-notes/log/" + FileName.segment(1)
    let file = try PosixDisk().open(path, .readWrite)
    let byte = try file.read(at: 200_000, count: 1)[0]
    try file.write([byte ^ 4].span, at: 200_000)
    file.close()
    var files: [String] = []
    for round in 0..<3 {
      let error = try #require(await a.exchangeError())
      #expect(error.code == .corrupt && error.file?.hasSuffix(FileName.segment(1)) == true)
      #expect(try (189_000...200_000).contains(#require(error.offset)))
      // Each file has three, and the twentieth is damaged.
      #expect(a.publishedDeltas == 18)
      try await b.pull()
      #expect(try b.ids() == Set((0..<18).map { "r\($0)" }))
      if round == 0 { files = try bench.segments(a) }
      #expect(try bench.segments(a) == files && files.count == 6)
    }
    try b.close()
    do throws(CairnError) { try a.close() } catch { #expect(!error.blamesCaller) }
  }
}
