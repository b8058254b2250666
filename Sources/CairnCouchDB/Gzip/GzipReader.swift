internal import Cairn

/// Unpacks a file of RFC 1952 that comes in pieces, and checks it: its length and its checksum.
struct GzipReader {
  private var head: [UInt8] = []
  private var inflater = Inflater()
  private var tail: [UInt8] = []
  private var hasHead = false
  private var sum: UInt32 = ~0
  private(set) var count: UInt64 = 0

  /// Unpacks what can be by now.
  mutating func feed(
    _ bytes: [UInt8], _ body: ([UInt8]) throws(CairnError) -> Void
  ) throws(CairnError) {
    if hasHead {
      inflater.feed(bytes)
    } else {
      head += bytes
      guard let length = try GzipReader.headLength(head) else { return }
      hasHead = true
      inflater.feed(Array(head[length...]))
      head = []
    }
    while true {
      let out: [UInt8]
      do { out = try inflater.take(64 << 10) } catch { throw GzipReader.fault(error.what) }
      if out.isEmpty { break }
      count += UInt64(out.count)
      for byte in out {
        sum = GzipReader.table[Int((sum ^ UInt32(byte)) & 0xFF)] ^ (sum >> 8)
      }
      try body(out)
    }
    guard inflater.isAtEnd else { return }
    tail += inflater.rest()
    // At once: what comes behind the end may have none.
    if tail.count > 8 { throw GzipReader.fault("there is something behind its end") }
  }

  /// Nothing more comes.
  func finish() throws(CairnError) {
    guard hasHead, inflater.isAtEnd, tail.count == 8 else {
      throw GzipReader.fault("it has no end, or something behind it")
    }
    func word(_ start: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(tail[start + $1]) << UInt32(8 * $1) }
    }
    guard word(0) == ~sum, word(4) == UInt32(truncatingIfNeeded: count) else {
      throw GzipReader.fault("its checksum is not that of its content")
    }
  }

  private static func fault(_ what: String) -> CairnError {
    CairnError(.corrupt, "a packed attachment can't be unpacked: \(what)")
  }

  /// Nil if more of it has to come.
  private static func headLength(_ head: [UInt8]) throws(CairnError) -> Int? {
    guard head.count >= 10 else { return nil }
    guard head[0] == 0x1F, head[1] == 0x8B, head[2] == 8, head[3] & 0xE0 == 0 else {
      throw fault("it is no gzip")
    }
    if head.count > 1 << 20 { throw fault("its head has no end") }
    let flags = head[3]
    var length = 10
    if flags & 4 != 0 {
      guard head.count >= 12 else { return nil }
      length += 2 + Int(head[10]) + Int(head[11]) << 8
    }
    for flag in [UInt8(8), 16] where flags & flag != 0 {
      guard length < head.count, let end = head[length...].firstIndex(of: 0) else { return nil }
      length = end + 1
    }
    if flags & 2 != 0 { length += 2 }
    return length <= head.count ? length : nil
  }

  private static let table: [UInt32] = (0..<256).map { start in
    (0..<8).reduce(UInt32(start)) { word, _ in word & 1 == 1 ? word >> 1 ^ 0xEDB8_8320 : word >> 1 }
  }
}
