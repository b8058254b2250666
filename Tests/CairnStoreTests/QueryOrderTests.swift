import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Ordered queries over more records than are kept in mind at once: those that can't be in the
/// result are dropped on the way.
struct QueryOrderTests {
  private static let count = 2500

  /// A text or bytes, which differ from all others behind their first eight bytes only.
  private func value(_ key: Int, isText: Bool) -> FieldValue {
    let text = "a beginning that they have in common, \(key + 10_000)"
    return isText ? .string(text) : .bytes(Array(text.utf8))
  }

  /// A device with these records in another order; and their ids in the order of their values.
  private func device(isText: Bool) throws -> (device: StoreDevice, ids: [String]) {
    let device = try StoreDevice(1)
    var ids = [String](repeating: "", count: Self.count)
    for number in 0..<Self.count {
      // Each key once, and the first ones last as often as first.
      let key = number * 977 % Self.count
      ids[key] = "r\(number)"
      try device.store.insert(ids[key], ["s": value(key, isText: isText)])
    }
    try device.store.sync()
    return (device, ids)
  }

  @Test(arguments: [false, true], [false, true])
  func `the first of many long values are found without an index`(
    isText: Bool, isFolded: Bool
  ) throws {
    let (device, ids) = try device(isText: isText)
    if isFolded { _ = try device.store.compact() }
    for isDescending in [false, true] {
      var query = RecordQuery()
      query.sorts = [RecordQuery.Sort(field: "s", isDescending: isDescending)]
      let expected = isDescending ? ids.reversed() : ids
      for skip in [0, 3, 300] {
        query.skip = skip
        query.limit = 5
        #expect(try device.store.explain(table: "t", query).hasPrefix("scan of "))
        let found = try device.store.query(table: "t", query).map(\.text)
        #expect(found == Array(expected[skip..<(skip + 5)]), "skip \(skip)")
      }
    }
  }
}
