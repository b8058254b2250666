import CairnBytes
import CairnLog

/// `seed base u64 · bytes of a file`: frames at its first places, as they are and with a checksum
/// that fits the first.
enum FrameEntry {
  static func run(_ bytes: [UInt8]) throws {
    guard bytes.count >= 8 else { return }
    let seedBase = bytes.u64(at: 0)
    var file = Array(bytes[8...])
    try look(file, seedBase)
    guard file.count >= FrameFormat.headerSize else { return }
    let stored = Int(file.u32(at: 0))
    guard stored > 0, stored <= file.count - FrameFormat.headerSize else { return }
    let seed = FrameFormat.seed(base: seedBase, offset: 0)
    file.set(
      Frame.checksum(file, at: 0, storedLength: stored, seed: seed),
      at: FrameFormat.checksumOffset)
    try look(file, seedBase)
  }

  private static func look(_ file: [UInt8], _ seedBase: UInt64) throws {
    for offset in stride(from: 0, to: min(file.count, 128), by: 4) {
      guard let frame = Frame(file, at: offset, seedBase: seedBase) else { continue }
      try FuzzFinding.check(frame.end <= file.count, "a frame that ends behind its file")
      try FuzzFinding.check(offset % FrameFormat.alignment == 0, "a frame at \(offset)")
      guard let payload = try? frame.payload(file) else { continue }
      try FuzzFinding.check(
        payload.count == frame.rawLength || frame.flags == 0, "a payload of another length")
      try FuzzFinding.check(payload.count <= FrameFormat.rawBytesMax, "a payload beyond the bounds")
    }
  }
}
