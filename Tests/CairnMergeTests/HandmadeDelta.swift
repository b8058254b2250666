import CairnBytes
import CairnMerge

/// Deltas of few cells, put together by hand, and the packs that they make.
struct HandmadeDelta {
  var delta = Delta()
  var heap: [UInt8] = []

  init(_ device: DeviceID, _ sequence: UInt64) {
    delta.dot = Dot(device: device, sequence: sequence)
  }

  /// Adds a table of new records, and with an operation a column with a cell for each.
  mutating func add(
    _ table: String, records: [String], born: [Dot] = [], _ operation: Delta.Operation? = nil,
    _ values: [FieldValue] = []
  ) {
    let (first, cells) = (delta.records.count, delta.rows.count)
    for name in records {
      if !born.isEmpty { delta.born[delta.records.count] = born }
      delta.records.append(
        Delta.RecordEntry(
          flags: born.isEmpty ? Delta.Flags.insert : Delta.Flags.born,
          reference: UInt32(delta.newNames.count)))
      delta.newNames.append(RecordName(name))
    }
    let columns = delta.columns.count
    if let operation {
      for row in records.indices {
        let cell =
          operation.hasValues ? Cell(values[row], heap: &heap) : Cell(tag: CellTag.none)
        delta.rows.append(UInt32(first + row))
        delta.tags.append(cell.tag)
        delta.words.append(cell.word)
      }
      delta.columns.append(
        Delta.Column(field: "f", operation: operation, cells: cells..<delta.rows.count))
    }
    delta.sections.append(
      Delta.Section(
        table: table, records: first..<delta.records.count,
        columns: columns..<delta.columns.count))
  }

  static func pack(_ deltas: [HandmadeDelta]) -> [UInt8] {
    var writer = PackWriter(
      device: deltas[0].delta.dot.device, first: deltas[0].delta.dot.sequence)
    for one in deltas {
      // A scope of its own for the names of each.
      var map: [UInt32] = []
      writer.append(one.delta, heap: one.heap, names: one.delta.newNames, map: &map)
    }
    return writer.bytes()
  }

  /// All deltas of a pack.
  static func read(_ pack: [UInt8]) throws(DecodeError) -> [Delta] {
    var reader = try PackReader(pack)
    var delta = Delta()
    var result: [Delta] = []
    while try reader.next(into: &delta) { result.append(delta) }
    return result
  }
}
