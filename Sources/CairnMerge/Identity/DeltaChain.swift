package import CairnBytes

/// A hash of everything that a device has committed up to one of its deltas: of two copies of a
/// device that went on by themselves it is the same as long as they had the same.
///
/// It goes from delta to delta, whatever files they lie in: XXH3-128 of the value before (16 bytes;
/// 0 for the first) and the delta's bytes as the only one of a scope.
package struct DeltaChain: Sendable {
  package private(set) var value: UInt128
  private var scratch: [UInt8] = []
  private var encoder = DeltaEncoder()

  package init(_ value: UInt128 = 0) { self.value = value }

  /// Goes on to the next delta. `names` are the records of the scope that it was decoded in; after
  /// this it refers to its own alone. (A copy of each, thousands of times, would cost as much as
  /// all of this.)
  package mutating func add(_ delta: inout Delta, heap: [UInt8], names: [RecordName]) {
    delta.newNames.removeAll(keepingCapacity: true)
    for index in delta.records.indices {
      delta.newNames.append(names[Int(delta.records[index].reference)])
      delta.records[index].reference = UInt32(index)
    }
    scratch.removeAll(keepingCapacity: true)
    scratch.put(UInt64(truncatingIfNeeded: value))
    scratch.put(UInt64(truncatingIfNeeded: value >> 64))
    encoder.beginScope()
    encoder.encode(delta, heap: heap, into: &scratch)
    value = XXH3.hash128(scratch)
  }

  /// The values after each delta of a pack.
  package static func values(
    of pack: [UInt8], after before: UInt128
  ) throws(DecodeError) -> [UInt128] {
    var chain = DeltaChain(before)
    var reader = try PackReader(pack)
    var delta = Delta()
    var values: [UInt128] = []
    while try reader.next(into: &delta) {
      chain.add(&delta, heap: reader.heap, names: reader.records)
      values.append(chain.value)
    }
    return values
  }

  /// So many of a device's deltas are told apart when it leaves its name; each takes 8 bytes.
  package static let movedMax = 1 << 14

  /// 64 bits of the value after each of a device's deltas behind `common`, as if none was before
  /// them, of the first ones. `packs` have them in order.
  package static func values(
    behind common: UInt64, in packs: [[UInt8]]
  ) throws(DecodeError) -> [UInt64] {
    var chain = DeltaChain()
    var values: [UInt64] = []
    for pack in packs {
      var reader = try PackReader(pack)
      var delta = Delta()
      while values.count < movedMax, try reader.next(into: &delta) {
        guard delta.dot.sequence == common + UInt64(values.count) + 1 else { continue }
        chain.add(&delta, heap: reader.heap, names: reader.records)
        values.append(UInt64(truncatingIfNeeded: chain.value))
      }
    }
    return values
  }
}
