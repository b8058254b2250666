internal import CairnBytes
internal import CairnMerge
internal import CairnStore

/// The records that match a live query, in order, and the part of them that it shows.
struct LiveResult {
  let query: RecordQuery
  /// All that match, also outside the part that is shown: what is in it depends on all before.
  private var matches: [RecordQuery.Key] = []
  /// What is shown.
  private(set) var names: [RecordName] = []

  init(_ query: RecordQuery) { self.query = query }

  /// Takes in what was read, and says how what is shown has changed.
  mutating func apply(_ reading: LiveReading) -> [ListDiff<RecordName>.Step] {
    let arrived = reading.matches.sorted(by: query.precedes)
    if let evaluated = reading.evaluated {
      if evaluated.isEmpty { return [] }
      matches.removeAll { evaluated.contains($0.id) }
      merge(arrived)
    } else {
      matches = arrived
    }
    let old = names
    let shown = matches.dropFirst(query.skip)
    names = shown.prefix(query.limit ?? .max).map(\.id)
    return ListDiff(from: old, to: names, touched: reading.evaluated).steps
  }

  /// Puts sorted keys where they belong.
  private mutating func merge(_ arrived: [RecordQuery.Key]) {
    if arrived.isEmpty { return }
    var merged: [RecordQuery.Key] = []
    merged.reserveCapacity(matches.count + arrived.count)
    var taken = 0
    for key in arrived {
      let end = matches[taken...].partitionPoint { !query.precedes($0, key) }
      merged += matches[taken..<end]
      merged.append(key)
      taken = end
    }
    merged += matches[taken...]
    matches = merged
  }
}
