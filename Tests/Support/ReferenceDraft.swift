package import CairnMerge

/// Someone at work on a `ReferenceList`: what a delta will do to it.
package struct ReferenceDraft: Sendable {
  private struct Element {
    var node: NodeID
    var isNew: Bool
    /// What is to be seen here.
    var item: NodeID?
  }

  private let list: ReferenceList
  private let stamp: Stamp
  private let context: VersionVector
  private var elements: [Element]
  private var values: [NodeID: FieldValue] = [:]
  private var next: UInt32 = 1_000

  package init(_ list: ReferenceList, stamp: Stamp, context: VersionVector) {
    self.list = list
    self.stamp = stamp
    self.context = context
    elements = list.order.map { Element(node: $0, isNew: false, item: list.shown(at: $0)) }
  }

  private var shown: [Int] { elements.indices.filter { elements[$0].item != nil } }

  private mutating func name() -> NodeID {
    next += 1
    return NodeID(stamp.dot, next)
  }

  private mutating func put(_ element: Element, at index: Int) {
    let place = index == 0 ? 0 : shown[index - 1]
    elements.insert(element, at: place + 1)
  }

  package mutating func insert(_ value: FieldValue, at index: Int) {
    let id = name()
    values[id] = value
    put(Element(node: id, isNew: true, item: id), at: index)
  }

  package mutating func remove(at index: Int) { _ = take(index) }

  private mutating func take(_ index: Int) -> Element {
    let place = shown[index]
    let element = elements[place]
    if element.isNew {
      elements.remove(at: place)
    } else {
      elements[place].item = nil
    }
    return element
  }

  package mutating func replace(at index: Int, with value: FieldValue) {
    if let item = elements[shown[index]].item { values[item] = value }
  }

  package mutating func move(from source: Int, to target: Int) {
    if source == target { return }
    var element = take(source)
    if !element.isNew { element = Element(node: name(), isNew: true, item: element.item) }
    put(element, at: target)
  }

  /// What it comes to; nil if to nothing.
  package func edit() -> ReferenceListEdit? {
    var draft = self
    draft.dropNullMoves()
    let edit = draft.collected()
    return edit.isEmpty ? nil : edit
  }

  /// A move that leaves the same items in the same order as if it had not been is none. They are
  /// asked in the order of the old places, along the list and back until each that is left counts.
  private mutating func dropNullMoves() {
    var old = list.order.compactMap(list.shown(at:))
    var again = true
    while again {
      again = false
      for item in old {
        guard let moved = elements.first(where: { $0.isNew && $0.item == item })
        else { continue }
        var without = self
        without.elements.removeAll { $0.node == moved.node }
        guard let home = without.elements.firstIndex(where: { list.shown(at: $0.node) == item })
        else { continue }
        without.elements[home].item = item
        if without.items == items {
          self = without
          again = true
        }
      }
      old.reverse()
    }
  }

  private var items: [NodeID] { elements.compactMap(\.item) }
  private func isOld(_ item: NodeID?) -> Bool { item.map { list.nodes[$0] != nil } ?? false }

  private func collected() -> ReferenceListEdit {
    var edit = ReferenceListEdit(stamp: stamp, context: context)
    for (index, element) in elements.enumerated() where element.isNew {
      var node = ReferenceList.Node(
        id: element.node, parent: elements[index - 1].node, isLeft: false, item: element.item,
        value: element.item.flatMap { isOld($0) ? nil : values[$0] })
      if !elements[index - 1].isNew, hasRight(elements[index - 1].node),
        let right = elements[index...].first(where: { !$0.isNew })
      {
        node.parent = right.node
        node.isLeft = true
      }
      edit.nodes.append(node)
    }
    for item in list.order.compactMap(list.shown(at:)) {
      if !items.contains(item) {
        edit.deleted.insert(item)
      } else if let value = values[item], list.values(of: item) != [value] {
        edit.replaced[item] = value
      }
    }
    return edit
  }

  private func hasRight(_ id: NodeID) -> Bool { list.parents.contains(id) }
}
