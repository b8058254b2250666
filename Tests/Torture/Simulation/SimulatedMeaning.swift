import CairnMerge
import TestSupport

/// What one delta says, taken apart the obvious way.
struct SimulatedMeaning {
  let stamp: Stamp
  private let context: VersionVector
  private(set) var parts: [(table: String, record: String, part: ReferenceFields.Part)] = []
  private var hash = SimulationDigest()

  var digest: UInt64 { hash.value }

  /// In words, for people.
  var lines: [String] {
    parts.map { table, record, part in
      let steps = part.delta.steps.map { "\($0.intent)" }
      let edits = part.edits.sorted { $0.key < $1.key }.map { field, edit in
        let nodes = edit.nodes.map { node in
          "\(node.id) \(node.isLeft ? "left of" : "right of") "
            + (node.parent.map { "\($0)" } ?? "nothing")
            + (node.item == node.id ? "" : " moves \(node.item.map { "\($0)" } ?? "nothing")")
            + (node.value.map { " \($0)" } ?? "")
        }
        return "\(field): \(nodes), gone \(edit.deleted.sorted()), replaced \(edit.replaced)"
      }
      return "\(table)/\(record) \(steps) created \(part.created) \(edits)"
    }
  }

  init(_ delta: Delta, _ reader: PackReader, _ context: VersionVector) throws {
    stamp = Stamp(dot: delta.dot, time: delta.time)
    self.context = context
    hash.add(UInt64(bitPattern: delta.time))
    for section in delta.sections {
      let first = parts.count
      for row in section.records {
        let entry = delta.records[row]
        let record = reader.records[Int(entry.reference)].text
        var part = ReferenceFields.Part(
          ReferenceDelta(stamp: stamp, context: context, steps: []), created: [], edits: [:])
        if entry.flags & Delta.Flags.delete != 0 {
          part.delta.steps.append(ReferenceDelta.Step(record, .delete))
        }
        if entry.flags & Delta.Flags.insert != 0 {
          part.delta.steps.append(ReferenceDelta.Step(record, .insert))
        }
        parts.append((section.table, record, part))
        hash.add(section.table)
        hash.add(record)
        hash.add(Int(entry.flags))
      }
      for column in delta.columns[section.columns] {
        for cell in column.cells {
          let index = first + Int(delta.rows[cell]) - section.records.lowerBound
          try add(cell, column, delta, reader.heap, to: index)
        }
      }
    }
  }

  private mutating func add(
    _ cell: Int, _ column: Delta.Column, _ delta: Delta, _ heap: [UInt8], to index: Int
  ) throws {
    let record = parts[index].record
    hash.add(column.field)
    hash.add(Int(column.operation.rawValue))
    if let edit = delta.edits[cell] {
      // Edited, then deleted and inserted again in one commit: the list that was edited is gone,
      // and the new one may use the same names of nodes.
      if parts[index].part.delta.steps.contains(where: { Self.isDelete($0) }) { return }
      let meaning = meaning(of: edit)
      add(meaning)
      // Two lists of one field, if the rule has changed in between.
      parts[index].part.edits[column.field, default: meaning].join(meaning)
      return
    }
    guard column.operation.hasValues else { throw TortureFailure("a list is edited by position") }
    let content = Cell(tag: delta.tags[cell], word: delta.words[cell])
    let value = content.value(heap)
    hash.add(value)
    if content.tag == CellTag.createdList { parts[index].part.created.append(column.field) }
    let rule: Rule = column.operation == .add ? .sum : .remote
    parts[index].part.delta.steps.append(
      ReferenceDelta.Step(record, .set(field: column.field, value, rule)))
  }

  private static func isDelete(_ step: ReferenceDelta.Step) -> Bool {
    if case .delete = step.intent { true } else { false }
  }

  private mutating func add(_ edit: ReferenceListEdit) {
    for node in edit.nodes {
      for id in [node.id, node.parent, node.item] { hash.add(id) }
      hash.add(node.isLeft ? 1 : 2)
      hash.add(node.value)
    }
    for item in edit.deleted.sorted() { hash.add(item) }
    for (item, value) in edit.replaced.sorted(by: { $0.key < $1.key }) {
      hash.add(item)
      hash.add(value)
    }
  }

  private func meaning(of edit: ListEdit) -> ReferenceListEdit {
    var result = ReferenceListEdit(stamp: stamp, context: context)
    let values = edit.inserted.values
    var number: UInt32 = 0
    var used = 0
    for chain in edit.chains {
      var parent = chain.parent
      var isLeft = chain.side == .left
      for offset in 0..<chain.count {
        let id = NodeID(stamp.dot, number)
        number += 1
        var node = ReferenceList.Node(
          id: id, parent: parent, isLeft: isLeft, item: id, value: nil)
        if let move = chain.moves.first(where: { $0.offset == offset }) {
          node.item = move.item
        } else {
          node.value = values[used]
          used += 1
        }
        result.nodes.append(node)
        parent = id
        isLeft = false
      }
    }
    for span in edit.deleted {
      for offset in 0..<span.count {
        result.deleted.insert(NodeID(span.first.dot, span.first.index + offset))
      }
    }
    for (item, value) in zip(edit.replaced, edit.replacements.values) {
      result.replaced[item] = value
    }
    return result
  }
}
