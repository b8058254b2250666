import CairnBytes
import CairnLog

/// A head's bytes put together by hand, so that it can say what no device would.
struct HeadBytes {
  var datastore: UInt128
  var device: UInt64
  var generation: UInt64 = 1
  var segments: [(first: UInt64, last: UInt64, size: UInt64, hash: UInt128)] = []
  var snapshot: (hash: UInt128, size: UInt64, content: UInt128, vector: [(UInt64, UInt64)])?

  func encoded() -> [UInt8] {
    var out = Array("CAIRNHED".utf8)
    out.put(FormatVersion.current)
    out.put(FormatVersion.floor)
    out.put(UInt32(0))
    put(datastore, &out)
    out.put(device)
    out.put(generation)
    out.put(UInt64(7))
    out.putString("eve")
    out.putVarint(segments.last?.last ?? 0)
    put(0, &out)
    // Acknowledged, fence, retired: nothing.
    for _ in 0..<4 { out.putVarint(0) }
    out.putVarint(segments.count)
    for segment in segments {
      out.putVarint(segment.first)
      out.putVarint(segment.last)
      out.putVarint(segment.size)
      put(segment.hash, &out)
    }
    out.putVarint(0)
    out.put(UInt8(snapshot == nil ? 0 : 1))
    if let snapshot {
      put(snapshot.hash, &out)
      out.putVarint(snapshot.size)
      put(snapshot.content, &out)
      out.putVarint(snapshot.vector.count)
      for (device, sequence) in snapshot.vector {
        out.put(device)
        out.putVarint(sequence)
      }
      out.putVarint(0)
    }
    put(XXH3.hash128(out), &out)
    return out
  }

  private func put(_ hash: UInt128, _ out: inout [UInt8]) {
    out.put(UInt64(truncatingIfNeeded: hash))
    out.put(UInt64(truncatingIfNeeded: hash >> 64))
  }
}
