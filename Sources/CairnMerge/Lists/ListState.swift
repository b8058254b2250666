/// A list that was edited: a sequence that merges without conflict.
///
/// Items are nodes of a tree whose walk is the order of the list (Weidner, Kleppmann: *The Art of
/// the Fugue*, 2023, section 4): a new item hangs to the right of its left neighbour, or, if that
/// one has something there, to the left of the right neighbour. What two devices type at one place
/// becomes two subtrees, so it never interleaves; which comes first is commit order. An item that
/// moves gets one more node, and the one of several concurrent moves that counts is the first in
/// commit order (Kleppmann: *Moving Elements in List CRDTs*, PaPoC 2020). Nodes stay when their
/// items are deleted or move away: others may hang on them.
///
/// In memory a node is a *slot*, numbered in the order of arrival. Local edits that are not
/// committed are slots behind all others (`Pending`), have no place in the tree yet, and can be
/// taken back.
package struct ListState: Sendable {
  /// It came to be by editing and not as a value: lists created concurrently are one list.
  package let isCreated: Bool
  /// Nobody else ever edits it: it has no names, no tree, and forgets what is deleted.
  let isPlain: Bool
  /// All nodes in the order of the list; visible is what is an item now.
  var rope = Rope()
  /// By slot: the values of items.
  var items = ListItems()
  /// By committed slot: its parent's slot times 2, plus the side; `rootParent` for roots.
  var parents: [UInt32] = []
  /// Slots of the roots, in commit order: one, or one for each device that created the list.
  var roots: [UInt32] = []
  var authors = ListAuthors()
  /// By parent times 2 plus side, the children in commit order, without one whose slot comes right
  /// after its parent's (so typing needs no entries here).
  var children: [UInt32: [UInt32]] = [:]
  /// One, once it took too many steps to go through the tree; else none, which is eight bytes.
  var spines: [ListSpines] = []
  /// Steps from node to node that were taken to find places.
  var walked = 0
  /// The node that was attached last, on which nothing hangs: what does comes after it. Not so of
  /// the last one of a list that was read or joined, whose slots are in another order.
  var newest = ListState.lost
  /// By item that was moved: the moves that no other move has seen, in commit order.
  var moves: [UInt32: [Move]] = [:]
  /// By item whose value was replaced: the values that no other one has seen, in commit order.
  var replaced: [UInt32: [Replaced]] = [:]
  /// Those of them that have several.
  var contested: Set<UInt32> = []
  /// What the values of all visible items count with.
  var bytes = 0
  var pending = Pending()

  struct Move: Hashable, Sendable {
    var stamp: Stamp
    /// The node that it was moved to; `ListState.lost` if that list is no more.
    var node: UInt32
  }

  struct Replaced: Hashable, Sendable {
    var stamp: Stamp
    var value: FieldValue
  }

  static let rootParent: UInt32 = .max
  static let lost: UInt32 = .max

  /// A list that was put or created as a whole.
  package init(_ values: [FieldValue], stamp: Stamp, isCreated: Bool) {
    self.isCreated = isCreated
    isPlain = false
    addRoot(values, stamp: stamp)
  }

  /// A list that only this device edits, or that is not committed yet.
  package init(plain values: [FieldValue], isCreated: Bool) {
    self.isCreated = isCreated
    isPlain = true
    reset(to: values)
  }

  mutating func reset(to values: [FieldValue]) {
    items = ListItems()
    items.append(Cell(tag: ListItems.none))
    for value in values { items.append(value) }
    rope = Rope()
    rope.insert(0..<1, after: nil, visible: false)
    rope.insert(1..<UInt32(items.count), after: 0, visible: true)
    roots = [0]
    bytes = (1..<items.count).reduce(0) { $0 + items.size($1) }
  }

  /// How many items it has.
  package var count: Int { rope.visibleCount }

  /// The size that the list counts with under a rule: 20 and its value's size for each item.
  @inline(__always)
  package func size(_ rule: Rule) -> Int {
    var size = rope.visibleCount * Sizes.listItem + bytes
    // Of these the first value counts, and that is what an item holds: no look at those in conflict
    // for each item that is put in.
    if contested.isEmpty || rule == .remote || rule == .sum { return size }
    for item in contested where !isTouched(item) {
      if let node = pending.moved[item] ?? currentNode(item), rope.isVisible(node) {
        size += value(ofItem: item, rule).size - items.size(Int(item))
      }
    }
    return size
  }

  /// Nodes that it has, pending ones and those of what was removed or moved included.
  package var nodeCount: Int { items.count }

  /// Whether it would be more than the formats can hold: as a value, or with all its nodes.
  package mutating func isTooLong(
    growing: Int, nodes: Int, _ rule: Rule, _ limits: Limits
  ) -> Bool {
    nodes > 0 && items.count + nodes > limits.listNodes
      || growing > 0 && size(rule) + growing >= limits.listBytes
  }

  /// The value at an index, which must be there.
  package mutating func value(at index: Int, _ rule: Rule) -> FieldValue {
    value(ofItem: item(of: rope.slot(atVisible: index)), rule)
  }

  /// What the item at an index counts with, without the 20 of an item.
  package mutating func size(at index: Int, _ rule: Rule) -> Int {
    let item = item(of: rope.slot(atVisible: index))
    if let values = replaced.isEmpty ? nil : replaced[item], values.count > 1 {
      return value(ofItem: item, rule).size
    }
    return items.size(Int(item))
  }

  package func values(_ rule: Rule) -> [FieldValue] {
    var result: [FieldValue] = []
    result.reserveCapacity(count)
    forEachShown(rule) { result.append($0) }
    return result
  }

  /// The same one by one.
  package func forEachShown(_ rule: Rule, _ body: (FieldValue) -> Void) {
    rope.forEachRun { slots, isVisible in
      if isVisible { for slot in slots { body(value(ofItem: item(of: slot), rule)) } }
    }
  }

  /// The item that has its place at a node.
  @inline(__always)
  func item(of node: UInt32) -> UInt32 {
    let cell = items.cell(Int(node))
    return cell.tag == ListItems.place ? UInt32(truncatingIfNeeded: cell.word) : node
  }

  @inline(__always)
  func value(ofItem item: UInt32, _ rule: Rule) -> FieldValue {
    if !replaced.isEmpty, let values = replaced[item], values.count > 1, !isTouched(item) {
      return ListState.choose(values, rule)
    }
    return items.value(Int(item))
  }

  /// Sums do not reach into lists: there the first one counts.
  static func choose(_ values: [Replaced], _ rule: Rule) -> FieldValue {
    var best = values[0].value
    switch rule {
    case .remote, .sum: break
    case .local: best = values[values.count - 1].value
    case .max, .min:
      let sign = rule == .max ? 1 : -1
      for other in values.dropFirst() where FieldValue.ordered(other.value, best) == sign {
        best = other.value
      }
    }
    return best
  }

  /// Notes the values of an item that no other one has seen; nil if nothing was ever replaced.
  mutating func setReplaced(_ item: UInt32, _ values: [Replaced]?) {
    replaced[item] = values
    if values?.count ?? 0 > 1 { contested.insert(item) } else { contested.remove(item) }
  }

  /// The item is there, though perhaps at a place that is no more.
  func isAlive(_ item: UInt32) -> Bool {
    let tag = items.tags[Int(item)]
    return tag != ListItems.none && tag != ListItems.place
  }

  /// Where an item's place is, pending moves not counted; nil if nowhere.
  func currentNode(_ item: UInt32) -> UInt32? {
    guard let move = moves[item]?.first else { return item }
    return move.node == ListState.lost ? nil : move.node
  }

  /// The items that were given several values at once, in the order of their names.
  package func conflicts(_ field: String, _ rule: Rule) -> [FieldConflict] {
    let items = replaced.keys.filter { replaced[$0]?.count ?? 0 > 1 }
    return items.sorted { authors.id(of: $0) < authors.id(of: $1) }.compactMap { item in
      guard let values = replaced[item] else { return nil }
      let visible = ListState.choose(values, rule)
      let losers = values.filter { $0.value != visible }
      if losers.isEmpty { return nil }
      return FieldConflict(
        field: field, visible: visible,
        losers: losers.map { FieldConflict.Loser(value: $0.value, stamp: $0.stamp) })
    }
  }
}
