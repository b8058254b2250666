package import CairnBytes

/// Which tables of somebody else's datastore are kept here. The library's own, whose ids begin with
/// a colon, always are: title, rules and roles say what the others mean.
package enum TableChoice: Hashable, Sendable {
  case all
  case only(Set<String>)
  case except(Set<String>)

  package func keeps(_ table: String) -> Bool {
    if Identifier.isReserved(table) { return true }
    return switch self {
    case .all: true
    case .only(let names): names.contains(table)
    case .except(let names): !names.contains(table)
    }
  }

  /// A pack with the same deltas, and in them nothing of other tables: a delta of which nothing is
  /// left stays as an empty one, so that what is built on it finds it.
  package func chosen(of pack: [UInt8]) throws(DecodeError) -> [UInt8] {
    if self == .all { return pack }
    var reader = try PackReader(pack)
    var writer = PackWriter(device: reader.header.device, first: reader.header.first)
    var delta = Delta()
    var map: [UInt32] = []
    while try reader.next(into: &delta) {
      writer.append(chosen(of: delta), heap: reader.heap, names: reader.records, map: &map)
    }
    return writer.bytes()
  }

  /// Its new names are left out: whoever writes it finds out itself which are new.
  func chosen(of delta: Delta) -> Delta {
    if delta.sections.allSatisfy({ keeps($0.table) }) { return delta }
    var result = Delta()
    (result.dot, result.time, result.dependencies) = (delta.dot, delta.time, delta.dependencies)
    for section in delta.sections where keeps(section.table) {
      result.append(section, of: delta)
    }
    return result
  }
}

extension Delta {
  /// Takes over a table's part of another delta, with the same scope of names and the same heap.
  fileprivate mutating func append(_ section: Section, of other: Delta) {
    let firstRecord = records.count
    for index in section.records {
      if let dots = other.born[index] { born[records.count] = dots }
      records.append(other.records[index])
    }
    let firstColumn = columns.count
    for column in other.columns[section.columns] {
      let firstCell = rows.count
      for cell in column.cells {
        let new = rows.count
        let row = Int(other.rows[cell]) - section.records.lowerBound + firstRecord
        rows.append(UInt32(row))
        tags.append(other.tags[cell])
        words.append(other.words[cell])
        if let value = other.covered[cell] { covered[new] = value }
        if let value = other.totals[cell] { totals[new] = value }
        if let value = other.edits[cell] { edits[new] = value }
        if let value = other.splices[cell] { splices[new] = value }
      }
      columns.append(
        Column(field: column.field, operation: column.operation, cells: firstCell..<rows.count))
    }
    sections.append(
      Section(
        table: section.table, records: firstRecord..<records.count,
        columns: firstColumn..<columns.count))
  }
}
