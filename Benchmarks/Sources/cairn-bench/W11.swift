import CairnCDB
import Workload

extension Bench {
  /// 100,000 records into a constant database, the first look into it, then 1,000,000 look-ups.
  func constantDatabase() throws {
    let path = directory + "/store.cdb"
    let building = try Meter.seconds { try build(path) }
    report.figure("build_ms", building * 1e3)

    let start = Meter.now()
    let file = try CDBFile(path)
    let first = try price(DataSet.firstRead, in: file)
    report.figure("first_read_us", (Meter.now() - start) * 1e6)
    report.check(first, Expected.firstRead)

    var total = 0.0
    let seconds = try Meter.seconds {
      for t in 0..<DataSet.gets { total += try price(pick(t, of: DataSet.big), in: file) }
    }
    report.figure("ns_per_get", seconds * 1e9 / Double(DataSet.gets))
    report.check(total, Expected.gets)
  }

  /// As durable as tinycdb's: not at all, but whole under its name.
  private func build(_ path: String) throws {
    let writer = try CDBWriter(path)
    var value: [UInt8] = []
    for number in 0..<DataSet.big {
      let sample = Sample(UInt64(number))
      sample.pack(into: &value)
      try sample.id.withBytes { try writer.add(key: $0, value: value.span) }
    }
    try writer.finish(durably: false)
  }

  private func price(_ number: UInt64, in file: CDBFile) throws -> Double {
    let price = try SampleID(number).withBytes { key in
      try file.withValue(for: key) { value in
        value.withUnsafeBytes {
          $0.loadUnaligned(fromByteOffset: Sample.packedPrice, as: Double.self)
        }
      }
    }
    guard let price else { report.fail("a record is missing") }
    return price
  }
}

extension SampleID {
  /// Its bytes, on the stack, as the peer has them.
  @inline(__always)
  fileprivate func withBytes<R>(_ body: (Span<UInt8>) throws -> R) rethrows -> R {
    try withUnsafeBytes(of: (first.littleEndian, second.littleEndian)) { bytes in
      try bytes.withMemoryRebound(to: UInt8.self) { try body($0.span) }
    }
  }
}

extension Sample {
  /// Where the price is in a packed record.
  fileprivate static let packedPrice = 32

  /// The fixed fields at known places, then the strings, as the key-value stores have it.
  fileprivate func pack(into bytes: inout [UInt8]) {
    bytes.removeAll(keepingCapacity: true)
    for word in [seq, category, created, modified] { bytes.appendWord(word) }
    bytes.appendWord(Int64(bitPattern: price.bitPattern))
    bytes.append(done ? 1 : 0)
    bytes.append(UInt8(owner.utf8.count))
    bytes.append(UInt8(truncatingIfNeeded: note.utf8.count))
    bytes.append(UInt8(truncatingIfNeeded: note.utf8.count >> 8))
    bytes.append(contentsOf: owner.utf8)
    bytes.append(contentsOf: note.utf8)
  }
}

extension [UInt8] {
  fileprivate mutating func appendWord(_ word: Int64) {
    Swift.withUnsafeBytes(of: word.littleEndian) { append(contentsOf: $0) }
  }
}
