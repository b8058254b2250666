internal import CairnMerge
internal import CairnStore

/// What an installation has noted in a datastore that syncs: which sets it has committed there, so
/// that none is committed twice. See `:map.sent` in FORMAT.md.
///
/// Each set has a number, and its name is in the field of that number's remainder by 64: a field
/// that is gone takes as much room as one that is there until all devices have agreed to forget it,
/// so names that change would fill every snapshot. Two copies of an installation may come to one
/// field at once. Then both values are remembered until the next set comes there, and both count.
struct SentNote {
  /// How many of its last sets an installation has noted in a datastore.
  static let kept: Int64 = 64

  private struct Entry {
    var set: String
    var number: Int64
  }

  private let installation: RecordName
  private let isThere: Bool
  private var entries: [Entry] = []
  /// Fields as an earlier version wrote them: called like the set, with its number.
  private var earlier: [String: Int64] = [:]

  init(of installation: RecordName, in store: Store) throws(StoreError) {
    self.installation = installation
    let table = MappingBook.Place.sent
    let fields = try store.fields(table: table, id: installation)
    isThere = fields != nil
    let lost = try store.conflicts(table: table, id: installation).flatMap { conflict in
      conflict.losers.compactMap { loser in loser.value.map { (conflict.field, $0) } }
    }
    for (field, value) in (fields ?? []) + lost {
      switch value {
      case .int(let number):
        entries.append(Entry(set: field, number: number))
        earlier[field] = max(number, earlier[field] ?? number)
      case .string(let text):
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[1]), number >= 0 else { continue }
        entries.append(Entry(set: String(parts[0]), number: number))
      default:
        // Of a version that is yet to come.
        continue
      }
    }
  }

  func has(_ set: RecordID) -> Bool {
    let name = set.description
    return entries.contains { $0.set == name }
  }

  /// Notes one more set: its field, and those of an earlier version that are too old by now go.
  func add(
    _ set: RecordID, to store: Store, _ limits: CairnMerge.Limits
  ) throws(StoreError) {
    // Beside numbers that nobody has counted up to it is as good as the first.
    let last = entries.map(\.number).max() ?? 0
    let number = last < .max ? max(last, 0) + 1 : last
    let value = FieldValue.string("\(set) \(number)")
    let field = String(number % SentNote.kept)
    let table = MappingBook.Place.sent
    guard isThere else {
      return try store.insert(table: table, id: installation, [(field, value)], limits: limits)
    }
    var changes: [(field: String, value: FieldValue?)] = [(field, value)]
    // As many are left as if they were in the fields that have been written since. One that is
    // called like this set's field has made room for it.
    for (old, count) in earlier.sorted(by: { $0.key < $1.key })
    where old != field && count <= number - SentNote.kept {
      changes.append((old, nil))
    }
    try store.update(table: table, id: installation, changes, limits: limits)
  }
}
