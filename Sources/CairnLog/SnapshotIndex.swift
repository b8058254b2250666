import CairnBytes

/// Makes the pages of a snapshot's index, a group of them at a time: for each group all hashes are
/// gone through once more, and in memory are those that belong there.
struct SnapshotIndex {
  private let hashes: RecordHashes
  /// Of each block.
  private let firstRecords: [Int]
  /// About so many records are in a group. All hashes are gone through some 16 times at most.
  private let groupRecords: Int

  init(_ hashes: RecordHashes, firstRecords: [Int]) {
    self.hashes = hashes
    self.firstRecords = firstRecords
    groupRecords = max(min(1 << 18, hashes.limit), hashes.count / 16)
  }

  /// How many records each of so many pages has.
  func counts(pages: Int) throws(LogError) -> [Int] {
    var counts = [Int](repeating: 0, count: pages)
    let pages = UInt64(pages)
    try hashes.each { _, piece in
      for hash in piece { counts[SnapshotSlots.page(hash, of: pages)] += 1 }
    }
    return counts
  }

  /// The slots of each page, in order.
  func pages(
    _ counts: [Int], _ layout: SnapshotSlots,
    _ put: (_ slots: [UInt64], _ page: Int) throws(LogError) -> Void
  ) throws(LogError) {
    var slots = [UInt64](repeating: 0, count: layout.perPage)
    var first = 0
    while first < counts.count {
      let group = group(from: first, counts)
      let records = try records(of: group, counts)
      var next = 0
      for page in group {
        for index in slots.indices { slots[index] = 0 }
        // In file order: where a record's slot is depends on those that are there already.
        for record in next..<next + counts[page] {
          layout.insert(records.hashes[record], records.places[record], into: &slots)
        }
        next += counts[page]
        try put(slots, page)
      }
      first = group.upperBound
    }
  }

  private func group(from first: Int, _ counts: [Int]) -> Range<Int> {
    var (end, records) = (first, 0)
    while end < counts.count, end == first || records + counts[end] <= groupRecords {
      records += counts[end]
      end += 1
    }
    return first..<end
  }

  /// The records of some pages, block << 32 | row: sorted by page, in file order within one.
  private func records(
    of group: Range<Int>, _ counts: [Int]
  ) throws(LogError) -> (hashes: [UInt64], places: [UInt64]) {
    // Where the next record of each page goes.
    var nexts: [Int] = []
    var total = 0
    for page in group {
      nexts.append(total)
      total += counts[page]
    }
    var sorted = [UInt64](repeating: 0, count: total)
    var places = [UInt64](repeating: 0, count: total)
    var block = 0
    let pages = UInt64(counts.count)
    try hashes.each { first, piece in
      for (index, hash) in piece.enumerated() {
        let page = SnapshotSlots.page(hash, of: pages)
        if !group.contains(page) { continue }
        let record = first + index
        while block + 1 < firstRecords.count, firstRecords[block + 1] <= record { block += 1 }
        let next = nexts[page - group.lowerBound]
        nexts[page - group.lowerBound] = next + 1
        sorted[next] = hash
        places[next] = UInt64(block) << 32 | UInt64(record - firstRecords[block])
      }
    }
    return (sorted, places)
  }
}
