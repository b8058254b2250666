package import CairnBytes

/// A name that another copy of a device has taken, when it left the one that both had, for deltas
/// which this one has, too: they are the first `count` of that name.
package struct TakenName: Hashable, Sendable {
  package var device: DeviceID
  package var count: UInt64

  package init(device: DeviceID, count: UInt64) {
    self.device = device
    self.count = count
  }
}

extension CommonBranch {
  /// Deltas behind these as they are under a name that another copy has taken for the first of
  /// them, and what is common to both then.
  package func followed(
    to name: TakenName, _ packs: [[UInt8]], present: VersionVector, cuts: [Cut] = []
  ) throws(DecodeError) -> (common: CommonBranch, packs: [[UInt8]]) {
    let moved = try moved(packs, to: name.device, present: present, cuts: cuts)
    var common = CommonBranch(name.device)
    for pack in moved { try common.add(pack: pack, through: name.count) }
    guard common.last == name.count else { throw .malformed("deltas that a name was taken for") }
    return (common, moved)
  }

  /// The same of all of them. None if it can't be told how far sums had come.
  package func moved(
    _ packs: [[UInt8]], to name: DeviceID, present: VersionVector, cuts: [Cut] = []
  ) throws(DecodeError) -> [[UInt8]] {
    var moved = Reauthoring(self, author: name, present: present, cuts: cuts)
    for pack in packs { try moved.add(pack: pack) }
    return moved.isUncertain ? [] : moved.packs
  }
}

extension DeltaChain {
  /// A value for each delta of packs that says what it does, and nothing of what its author had
  /// seen: that follows from what is there when it gets another name.
  package static func contents(of packs: [[UInt8]]) throws(DecodeError) -> [UInt128] {
    var values: [UInt128] = []
    for pack in packs {
      var reader = try PackReader(pack)
      var delta = Delta()
      while try reader.next(into: &delta) {
        delta.dependencies = []
        var chain = DeltaChain()
        chain.add(&delta, heap: reader.heap, names: reader.records)
        values.append(chain.value)
      }
    }
    return values
  }

  /// When the first delta of packs was made that comes behind one; nil if there is none.
  package static func beginning(
    of packs: [[UInt8]], behind last: UInt64 = 0
  ) throws(DecodeError) -> Int64? {
    for pack in packs {
      var reader = try PackReader(pack)
      var delta = Delta()
      while try reader.next(into: &delta) {
        if delta.dot.sequence > last { return delta.time }
      }
    }
    return nil
  }

  /// So many of the first `count` deltas behind `common` are the same ones where somebody has equal
  /// ones: up to the last that a clock has dated. A time that only follows the one before is the
  /// same in every copy, also of what each of them has done by itself.
  package static func proven(
    _ count: UInt64, behind common: CommonBranch, in packs: [[UInt8]]
  ) throws(DecodeError) -> UInt64 {
    var (proven, seen) = (UInt64(0), UInt64(0))
    // The first one of a name follows none.
    var before: Int64? = common.last == 0 ? Int64.min : common.time
    for pack in packs {
      var reader = try PackReader(pack)
      var delta = Delta()
      while seen < count, try reader.next(into: &delta) {
        guard delta.dot.sequence == common.last + seen + 1 else { continue }
        seen += 1
        if let before, delta.time > before, delta.time - 1 > before { proven = seen }
        before = delta.time
      }
    }
    return proven
  }
}
