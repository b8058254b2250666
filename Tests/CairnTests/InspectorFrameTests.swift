import Cairn
import TestSupport
import Testing

/// What a check says of the log that it has read.
@Suite struct InspectorFrameTests {
  @Test func `a check counts the good frames of all segments, and the deltas in them`() throws {
    let bench = try FolderWorkbench()
    bench.options.compactsAutomatically = false
    // Two of these records do not fit.
    bench.options.segmentBytes = 64 << 10
    let datastore = try bench.open("a")
    let random = SeededRandom(1)
    for number in 0..<3 {
      try datastore.table("t").insert(
        ["b": .bytes(random.bytes(40_000))], id: RecordID("r\(number)"))
      try datastore.sync()
    }
    try datastore.close()
    let inspector = try DatastoreInspector(root: bench.root("a"), id: bench.id)
    defer { inspector.close() }
    let segments = try inspector.segments()
    #expect(segments.count > 1)
    let report = try inspector.verify()
    #expect(report.problems == [])
    #expect(report.frames == segments.reduce(0) { $0 + $1.frames })
    #expect(report.frames >= 3 && report.deltas >= 3)
  }
}
