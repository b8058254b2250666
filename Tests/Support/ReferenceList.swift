package import CairnMerge

/// A list the slow and obvious way: all nodes and all edits are kept, and what the list is follows
/// from them by definition, from scratch. Shares nothing with `ListState`.
package struct ReferenceList: Sendable {
  /// A root, an item, or one more place for an item.
  package struct Node: Sendable {
    package var id: NodeID
    /// Nil for a root.
    package var parent: NodeID?
    package var isLeft: Bool
    /// The item that has its place here: the node's own or, after a move, another one.
    package var item: NodeID?
    package var value: FieldValue?

    package init(
      id: NodeID, parent: NodeID?, isLeft: Bool, item: NodeID?, value: FieldValue?
    ) {
      self.id = id
      self.parent = parent
      self.isLeft = isLeft
      self.item = item
      self.value = value
    }
  }

  package struct Root: Sendable {
    package var stamp: Stamp
    package var values: [FieldValue]

    package init(stamp: Stamp, values: [FieldValue]) {
      self.stamp = stamp
      self.values = values
    }
  }

  let nodes: [NodeID: Node]
  /// The nodes in the order of the list.
  let order: [NodeID]
  private let edits: [ReferenceListEdit]
  private let present: Set<NodeID>
  private let deleted: Set<NodeID>
  /// Nodes with something on the right.
  let parents: Set<NodeID>
  private var moves: [NodeID: [ReferenceListEdit]] = [:]
  private var replacements: [NodeID: [ReferenceListEdit]] = [:]

  /// A list with these roots, after all edits of these that are edits of it.
  package init(roots: [Root], edits: [ReferenceListEdit]) {
    var stamps: [Dot: Stamp] = [:]
    var all: [Node] = []
    for root in roots {
      stamps[root.stamp.dot] = root.stamp
      all += Self.nodes(of: root)
    }
    for edit in edits {
      stamps[edit.stamp.dot] = edit.stamp
      all += edit.nodes
    }
    let known = stamps
    func comesFirst(_ a: NodeID, _ b: NodeID) -> Bool {
      guard let a = known[a.dot], let b = known[b.dot] else { return false }
      return a < b
    }
    let families = Dictionary(grouping: all, by: \.parent)
    func walk(_ id: NodeID) -> [NodeID] {
      let children = families[id] ?? []
      func part(_ isLeft: Bool) -> [NodeID] {
        children.filter { $0.isLeft == isLeft }.map(\.id).sorted(by: comesFirst).flatMap(walk)
      }
      return part(true) + [id] + part(false)
    }
    let top = all.filter { $0.parent == nil }.map(\.id).sorted(by: comesFirst)
    order = top.flatMap(walk)
    var nodes: [NodeID: Node] = [:]
    for node in all { nodes[node.id] = node }
    self.nodes = nodes
    self.edits = edits
    present = Set(order)
    deleted = Set(edits.flatMap(\.deleted))
    parents = Set(all.filter { !$0.isLeft }.compactMap(\.parent))
    for edit in edits {
      for node in edit.nodes {
        if let item = node.item, item != node.id { moves[item, default: []].append(edit) }
      }
      for item in edit.replaced.keys { replacements[item, default: []].append(edit) }
    }
  }

  private static func nodes(of root: Root) -> [Node] {
    let dot = root.stamp.dot
    var nodes = [Node(id: NodeID(dot, 0), parent: nil, isLeft: false, item: nil, value: nil)]
    for (index, value) in root.values.enumerated() {
      let id = NodeID(dot, UInt32(index) + 1)
      nodes.append(
        Node(
          id: id, parent: NodeID(dot, UInt32(index)), isLeft: false, item: id, value: value))
    }
    return nodes
  }

  /// The item that is to be seen at a node, if any.
  func shown(at node: NodeID) -> NodeID? {
    guard let item = nodes[node]?.item, place(of: item) == node else { return nil }
    return item
  }

  /// Where an item is: nowhere if it is deleted, where the first of the moves that no move has seen
  /// took it, or where it was inserted.
  private func place(of item: NodeID) -> NodeID? {
    guard present.contains(item), !deleted.contains(item) else { return nil }
    guard let first = latest(moves[item] ?? []).first else { return item }
    return first.place(of: item).flatMap { present.contains($0) ? $0 : nil }
  }

  /// The values that no other one has replaced knowingly, in commit order.
  func values(of item: NodeID) -> [FieldValue] {
    let written = latest(replacements[item] ?? [])
    if written.isEmpty { return [nodes[item]?.value].compactMap(\.self) }
    return written.compactMap { $0.replaced[item] }
  }

  private func latest(_ edits: [ReferenceListEdit]) -> [ReferenceListEdit] {
    edits.filter { edit in
      !edits.contains { $0.stamp != edit.stamp && $0.context.contains(edit.stamp.dot) }
    }.sorted { $0.stamp < $1.stamp }
  }

  package func values(_ rule: Rule) -> [FieldValue] {
    order.compactMap(shown(at:)).compactMap { item in
      let values = values(of: item)
      return switch rule {
      case .remote, .sum: values.first
      case .local: values.last
      case .max: values.first { value in
        values.allSatisfy { FieldValue.ordered($0, value) <= 0 }
      }
      case .min: values.first { value in
        values.allSatisfy { FieldValue.ordered($0, value) >= 0 }
      }
      }
    }
  }
}

/// What one delta did to a list.
package struct ReferenceListEdit: Sendable {
  package var stamp: Stamp
  /// The delta itself included.
  package var context: VersionVector
  package var nodes: [ReferenceList.Node] = []
  package var deleted: Set<NodeID> = []
  package var replaced: [NodeID: FieldValue] = [:]

  package init(stamp: Stamp, context: VersionVector) {
    self.stamp = stamp
    self.context = context
  }

  package var isEmpty: Bool { nodes.isEmpty && deleted.isEmpty && replaced.isEmpty }

  /// Adds what it did to another list of the same field. Nodes that are there by name already stand
  /// for the numbers that are taken.
  package mutating func join(_ other: ReferenceListEdit) {
    let names = Set(nodes.map(\.id))
    nodes += other.nodes.filter { !names.contains($0.id) }
    deleted.formUnion(other.deleted)
    replaced.merge(other.replaced) { _, new in new }
  }

  /// Where it moved an item to.
  func place(of item: NodeID) -> NodeID? { nodes.first { $0.item == item && $0.id != item }?.id }
}
