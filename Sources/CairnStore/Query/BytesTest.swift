import CairnBytes

/// What a query asks of the bytes of a text or of a bytes value.
enum BytesTest {
  case never
  case always
  case equalsOne(of: [[UInt8]])
  case differs(from: [UInt8])
  case hasPrefix([UInt8])
  case range(Bounds)

  struct Bounds {
    var lower: [UInt8]?
    var upper: [UInt8]?
    var includesLower: Bool
    var includesUpper: Bool
  }

  @inline(__always)
  func matches(_ heap: [UInt8], _ range: Range<Int>) -> Bool {
    switch self {
    case .never: return false
    case .always: return true
    case .equalsOne(let wanted):
      for bytes in wanted where heap.equal(range, bytes, 0..<bytes.count) { return true }
      return false
    case .differs(let bytes): return !heap.equal(range, bytes, 0..<bytes.count)
    case .hasPrefix(let prefix):
      guard range.count >= prefix.count else { return false }
      let start = range.lowerBound..<(range.lowerBound + prefix.count)
      return heap.equal(start, prefix, 0..<prefix.count)
    case .range(let bounds): return bounds.contains(heap, range)
    }
  }
}

extension BytesTest.Bounds {
  func contains(_ heap: [UInt8], _ range: Range<Int>) -> Bool {
    if let lower {
      let order = heap.order(range, lower, 0..<lower.count)
      if order < 0 || order == 0 && !includesLower { return false }
    }
    if let upper {
      let order = heap.order(range, upper, 0..<upper.count)
      if order > 0 || order == 0 && !includesUpper { return false }
    }
    return true
  }
}
