import CairnMerge
package import CairnStore

extension Store {
  /// All that a store shows, as lines of text in a fixed order: table, record, field and value.
  /// Reads every record in every way there is.
  package func everything() throws(StoreError) -> [String] {
    var lines: [String] = []
    for table in try allTables() {
      var ids: Set<String> = []
      for id in try query(table: table, []) {
        ids.insert(id.text)
        let fields = try fields(table: table, id: id) ?? []
        lines.append("\(table)/\(id.text) \(fields.count)")
        for (name, value) in fields {
          lines.append("\(table)/\(id.text).\(name) = \(value)")
          guard case .list(let items) = value else { continue }
          let count = try listCount(table: table, id: id, field: name)
          guard count == items.count else {
            let what = "\(id.text).\(name): \(items.count) items, \(count ?? -1) counted"
            throw StoreError(.illegalArgument, what)
          }
        }
        _ = try size(table: table, id: id)
      }
      _ = try count(table: table)
    }
    lines.sort()
    return lines
  }
}
