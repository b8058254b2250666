import CairnBytes

extension [UInt8] {
  /// A segment of the log with one more frame, under a good checksum: what no writer does, and what
  /// nothing but its content can tell.
  package func appendingFrame(
    kind: UInt8 = 1, device: UInt64? = nil, sequence: UInt64, payload: [UInt8]
  ) -> [UInt8] {
    var out = self
    out.padToFrame()
    let offset = out.count
    out.put(UInt32(payload.count))
    out += [kind, 0, 0, 0]
    out.put(UInt32(payload.count))
    out.put(UInt32(0))
    out.put(device ?? out.u64(at: 32))
    out.put(sequence)
    // The datastore, the device and the number of the segment's header.
    let base = XXH3.hash64(out, 16..<48)
    let place = base ^ (UInt64(offset) + 1) &* 0x9E37_79B9_7F4A_7C15
    let header = XXH3.hash64(out, offset..<out.count, seed: place)
    out.put(XXH3.hash64(payload, 0..<payload.count, seed: header))
    out += payload
    out.padToFrame()
    return out
  }

  private mutating func padToFrame() {
    append(contentsOf: repeatElement(0, count: (8 - count % 8) % 8))
  }
}
