internal import Cairn
internal import CairnBytes

/// A hash table as a whole: what look-ups find in it, without going from slot to slot.
struct CDBLongTable: Sendable {
  struct Slot {
    var hash: UInt64
    var number: UInt64
    /// Of the record that it points to.
    var position: UInt64
  }

  private struct Found {
    var position: UInt64
    var hash: UInt64
    var distance: UInt64
    var isFirst: Bool
  }

  /// Sorted by position and hash.
  private var found: [Found] = []

  init(_ file: CDBFile, _ number: Int) throws(CairnError) {
    let count = file.layout.tables[number].slots
    let (slots, used) = try CDBLongTable.read(file, number)
    var keys = Keys(file)
    var next = 0
    while next < slots.count {
      let hash = slots[next].hash
      let end = slots[next...].firstIndex { $0.hash != hash } ?? slots.count
      let same = slots[next..<end]
      next = end
      let start = CDBProbe.remainder(hash >> 8, count)
      let reach = CDBLongTable.reach(from: start, used, count)
      let turn = same.partitionPoint { $0.number >= start }
      keys.beginHash(isAlone: same.count == 1)
      for slot in same[turn...] + same[..<turn] {
        let distance = slot.number >= start ? slot.number - start : slot.number + count - start
        if distance >= reach { break }
        let isFirst = try keys.isFirst(slot.position, hash)
        found.append(
          Found(position: slot.position, hash: hash, distance: distance, isFirst: isFirst))
      }
    }
    // A second slot of the same record comes behind the first one.
    found.sort {
      if $0.position != $1.position { return $0.position < $1.position }
      return $0.hash == $1.hash ? $0.distance < $1.distance : $0.hash < $1.hash
    }
  }

  /// Under which of these hashes, the first of them first, a record is found.
  func place(of position: UInt64, _ hashes: [UInt64]) -> CDBPlaces.Place? {
    let first = found.partitionPoint { $0.position >= position }
    for hash in hashes {
      var index = first
      while index < found.count, found[index].position == position {
        if found[index].hash == hash {
          return (Int(clamping: found[index].distance), found[index].isFirst)
        }
        index += 1
      }
    }
    return nil
  }

  /// The slots that are used, by falling hash, and where they lie together. Nothing is kept of the
  /// empty ones: a sparse file may have billions of them.
  static func read(
    _ file: CDBFile, _ number: Int
  ) throws(CairnError) -> (slots: [Slot], used: [Range<UInt64>]) {
    let table = file.layout.tables[number]
    var slots: [Slot] = []
    var used: [Range<UInt64>] = []
    for place in 0..<table.slots {
      let (hash, position) = try file.pair(at: table.start + place * file.layout.pairSize)
      if position == 0 { continue }
      if let last = used.last, last.upperBound == place {
        used[used.count - 1] = last.lowerBound..<(place + 1)
      } else {
        used.append(place..<(place + 1))
      }
      if hash & 255 == UInt64(number) {
        slots.append(Slot(hash: hash, number: place, position: position))
      }
    }
    slots.sort { $0.hash == $1.hash ? $0.number < $1.number : $0.hash > $1.hash }
    return (slots, used)
  }

  /// How many slots a look-up that starts there goes through: it ends at the first empty one.
  private static func reach(
    from start: UInt64, _ used: [Range<UInt64>], _ count: UInt64
  ) -> UInt64 {
    let index = used.partitionPoint { $0.upperBound > start }
    guard index < used.count, used[index].lowerBound <= start else { return 0 }
    let end = used[index].upperBound
    guard end == count, let first = used.first, first.lowerBound == 0 else { return end - start }
    // It goes on at the first slot, and after all of them it ends.
    return min(count, end - start + first.upperBound)
  }

  /// Which keys were seen under a hash.
  private struct Keys {
    private let file: CDBFile
    private var seen: Set<UInt128> = []
    /// Under hashes of more than 32 bits, which a look-up tries first, and which come first here.
    private var wide: Set<UInt128> = []
    private var isAlone = false
    /// Records do not lie over one another: their keys are no longer than the file.
    private var left: UInt64

    init(_ file: CDBFile) {
      self.file = file
      left = file.size
    }

    mutating func beginHash(isAlone: Bool) {
      self.isAlone = isAlone
      if !seen.isEmpty { seen.removeAll() }
    }

    mutating func isFirst(_ position: UInt64, _ hash: UInt64) throws(CairnError) -> Bool {
      if isAlone, file.format == .cdb { return true }
      let record = try file.record(at: position)
      guard record.keyLength <= left else {
        throw .damaged(file.path, position, "records that lie over one another")
      }
      left -= record.keyLength
      // A hole may be longer than any memory.
      guard record.keyLength <= UInt64(CDBFile.largestRead) else {
        throw .tooLong(file.path, record.keyStart, Int(clamping: record.keyLength))
      }
      let key = XXH3.hash128(try file.part(record.keyStart, Int(clamping: record.keyLength)))
      if hash > 0xFFFF_FFFF { wide.insert(key) }
      let isNew = seen.insert(key).inserted
      return isNew && (hash > 0xFFFF_FFFF || !wide.contains(key))
    }
  }
}
