import CairnMerge
import TestSupport
import Testing

/// A rope beside the plainest thing that does the same, with random changes made to both.
struct RopeModel {
  struct Node: Equatable {
    var slot: UInt32
    var isVisible: Bool
  }

  var rope = Rope()
  var nodes: [Node] = []
  /// Slots that were given out and taken back.
  var removed: [UInt32] = []
  var nextSlot: UInt32 = 0
  let random: SeededRandom

  init(seed: UInt64) {
    random = SeededRandom(seed)
  }

  // MARK: changes

  /// Inserts slots before the node with an index, or at the end.
  mutating func insert(_ slots: Range<UInt32>, at index: Int, visible: Bool) {
    rope.insert(slots, after: index == 0 ? nil : nodes[index - 1].slot, visible: visible)
    nodes.insert(contentsOf: slots.map { Node(slot: $0, isVisible: visible) }, at: index)
  }

  mutating func insertNew(_ count: Int, at index: Int, visible: Bool = true) {
    let end = nextSlot + UInt32(count)
    insert(nextSlot..<end, at: index, visible: visible)
    nextSlot = end
  }

  mutating func setVisible(_ index: Int, _ visible: Bool) {
    rope.setVisible(nodes[index].slot..<(nodes[index].slot + 1), visible)
    nodes[index].isVisible = visible
  }

  mutating func remove(_ index: Int) {
    let slot = nodes.remove(at: index).slot
    rope.remove(slot)
    removed.append(slot)
  }

  /// One change of a kind that a list sees, or a few that go together.
  mutating func change(longest: Int) {
    if nodes.isEmpty { return insertNew(1 + random.below(longest), at: 0) }
    let index = random.below(nodes.count)
    switch random.below(12) {
    case 0...2: insertNew(1, at: random.below(nodes.count + 1), visible: random.below(5) > 0)
    case 3: insertNew(1 + random.below(longest), at: random.below(nodes.count + 1))
    case 4: for step in 0..<random.below(8) { insertNew(1, at: index + step) }
    case 5: for step in 0...min(index, random.below(8)) { setVisible(index - step, false) }
    case 6: setVisible(index, random.coin())
    case 7: setSlots(longest)
    case 8: typeByIndex()
    case 9: remove(index)
    case 10: for _ in 0..<random.below(longest) where index < nodes.count { remove(index) }
    default: insertAgain()
    }
  }

  /// A range of slots, wherever they are by now.
  private mutating func setSlots(_ longest: Int) {
    let first = UInt32(random.below(Int(nextSlot)))
    var end = first
    while end < nextSlot, end - first < longest, rope.contains(end) { end += 1 }
    let isVisible = random.coin()
    rope.setVisible(first..<end, isVisible)
    for index in nodes.indices where (first..<end).contains(nodes[index].slot) {
      nodes[index].isVisible = isVisible
    }
  }

  /// As an editor does it: look up the left neighbour, insert behind it.
  private mutating func typeByIndex() {
    guard rope.visibleCount > 0 else { return }
    var visible = random.below(rope.visibleCount)
    for _ in 0..<random.below(6) {
      let slot = rope.slot(atVisible: visible)
      guard let index = nodes.firstIndex(where: { $0.slot == slot }) else {
        Issue.record("slot \(slot) is not in the list")
        return
      }
      insertNew(1, at: index + 1)
      visible += 1
    }
  }

  private mutating func insertAgain() {
    guard !removed.isEmpty else { return }
    let slot = removed.remove(at: random.below(removed.count))
    // Often where it was: behind the slot before it.
    let old = slot == 0 ? nil : nodes.firstIndex { $0.slot == slot - 1 }
    let index = random.coin() ? old.map { $0 + 1 } : nil
    insert(
      slot..<(slot + 1), at: index ?? random.below(nodes.count + 1), visible: random.coin())
  }

  // MARK: comparing

  /// Whether the rope holds what it should, and is well inside.
  func expectSame(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(rope.problems() == [], sourceLocation: sourceLocation)
    var walked: [Node] = []
    rope.forEachRun { slots, isVisible in
      walked += slots.map { Node(slot: $0, isVisible: isVisible) }
    }
    #expect(walked == nodes, sourceLocation: sourceLocation)
    #expect(rope.count == nodes.count, sourceLocation: sourceLocation)
    let visible = nodes.count { $0.isVisible }
    #expect(rope.visibleCount == visible, sourceLocation: sourceLocation)
    #expect(rope.first == nodes.first?.slot, sourceLocation: sourceLocation)
    #expect(rope.last == nodes.last?.slot, sourceLocation: sourceLocation)
    #expect(removed.allSatisfy { !rope.contains($0) }, sourceLocation: sourceLocation)
  }

  /// Whether every node knows its place, and every place its node.
  mutating func expectPlaces(sourceLocation: SourceLocation = #_sourceLocation) {
    var visible = 0
    var wrong: [UInt32] = []
    for (index, node) in nodes.enumerated() {
      let slot = node.slot
      var isRight =
        rope.contains(slot) && rope.isVisible(slot) == node.isVisible
        && rope.position(of: slot) == index && rope.visibleIndex(of: slot) == visible
      let next = index + 1 < nodes.count ? nodes[index + 1].slot : nil
      let previous = index > 0 ? nodes[index - 1].slot : nil
      if rope.next(slot) != next || rope.previous(slot) != previous { isRight = false }
      if node.isVisible {
        if rope.slot(atVisible: visible) != slot { isRight = false }
        visible += 1
      }
      if !isRight { wrong.append(slot) }
    }
    #expect(wrong == [], sourceLocation: sourceLocation)
  }

  /// Whether a look-up somewhere, and then beside it, is right.
  mutating func expectLookUp(sourceLocation: SourceLocation = #_sourceLocation) {
    let visible = nodes.filter(\.isVisible).map(\.slot)
    guard !visible.isEmpty else { return }
    let index = random.below(visible.count)
    for near in [index, index + 1, index - 1] where visible.indices.contains(near) {
      let slot = rope.slot(atVisible: near)
      #expect(slot == visible[near], sourceLocation: sourceLocation)
    }
  }
}
