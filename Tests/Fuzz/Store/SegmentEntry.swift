import CairnBytes
import CairnFuzzBytes
import CairnLog

/// A segment's bytes: scanned and decoded as they are and with good checksums; then as the log of a
/// store.
enum SegmentEntry {
  static func run(_ bytes: [UInt8]) throws {
    _ = try? SegmentReading(SegmentScan(bytes, path: "raw"), path: "raw")
    guard bytes.count > SegmentHeader.size else { return }
    // In the place that the store looks at.
    var own = bytes
    let header = SegmentHeader(
      datastore: StoreBench.datastore, device: StoreBench.device, number: 1
    ).encoded()
    own.replaceSubrange(0..<header.count, with: header)
    SegmentRepair.run(&own)
    guard let scan = try? SegmentScan(own, path: "repaired") else { return }
    try FuzzFinding.check(scan.end <= own.count, "a scan that ends behind its file")
    if case .torn(let torn) = scan.ending {
      try FuzzFinding.check(torn >= 0 && scan.end + torn <= own.count, "a torn tail of \(torn)")
    }
    _ = try? SegmentReading(scan, path: "repaired")
    if scan.frames.isEmpty { return }
    let bench = StoreBench()
    try bench.put(segment: own)
    try bench.live(compacts: bytes.count % 16 == 0)
  }
}
