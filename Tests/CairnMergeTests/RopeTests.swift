import CairnMerge
import TestSupport
import Testing

/// The order under lists.
@Suite struct RopeTests {
  private struct Run: Equatable {
    var slots: Range<UInt32>
    var isVisible: Bool

    init(_ slots: Range<UInt32>, _ isVisible: Bool = true) {
      self.slots = slots
      self.isVisible = isVisible
    }
  }

  private func runs(_ rope: Rope) -> [Run] {
    var result: [Run] = []
    rope.forEachRun { slots, isVisible in result.append(Run(slots, isVisible)) }
    return result
  }

  private func typed(_ count: UInt32) -> Rope {
    var rope = Rope()
    for slot in 0..<count {
      rope.insert(slot..<(slot + 1), after: slot == 0 ? nil : slot - 1, visible: true)
    }
    return rope
  }

  // MARK: runs

  @Test func `an empty rope has nothing`() {
    let rope = Rope()
    #expect(rope.count == 0 && rope.visibleCount == 0)
    #expect(rope.first == nil && rope.last == nil)
    #expect(!rope.contains(0))
    #expect(runs(rope).isEmpty)
    #expect(rope.problems() == [])
  }

  @Test func `what is typed is one run`() {
    #expect(runs(typed(200)) == [Run(0..<200)])
  }

  @Test func `runs have a longest length`() {
    let rope = typed(600)
    #expect(runs(rope) == [Run(0..<256), Run(256..<512), Run(512..<600)])
    #expect(rope.problems() == [])
  }

  @Test func `an insert in a run splits it`() {
    var rope = typed(10)
    rope.insert(10..<13, after: 4, visible: true)
    #expect(runs(rope) == [Run(0..<5), Run(10..<13), Run(5..<10)])
    #expect(rope.position(of: 5) == 8)
    #expect(rope.next(4) == 10 && rope.previous(5) == 12)
    #expect(rope.problems() == [])
  }

  @Test func `an insert before the run that goes on is part of it`() {
    var rope = Rope()
    rope.insert(5..<9, after: nil, visible: true)
    rope.insert(0..<5, after: nil, visible: true)
    #expect(runs(rope) == [Run(0..<9)])
    #expect(rope.problems() == [])
  }

  @Test func `an insert of no slots changes nothing`() {
    var rope = typed(3)
    rope.insert(3..<3, after: 1, visible: true)
    rope.setVisible(1..<1, false)
    #expect(runs(rope) == [Run(0..<3)])
  }

  @Test func `deleting backwards makes two runs`() {
    var rope = typed(100)
    for slot in (60..<100).reversed() {
      #expect(rope.slot(atVisible: Int(slot)) == slot)
      rope.setVisible(UInt32(slot)..<UInt32(slot + 1), false)
    }
    #expect(runs(rope) == [Run(0..<60), Run(60..<100, false)])
    #expect(rope.visibleCount == 60 && rope.count == 100)
    #expect(rope.problems() == [])
  }

  @Test func `deleting forwards makes three runs`() {
    var rope = typed(100)
    for slot in UInt32(20)..<50 {
      #expect(rope.slot(atVisible: 20) == slot)
      rope.setVisible(slot..<(slot + 1), false)
    }
    #expect(runs(rope) == [Run(0..<20), Run(20..<50, false), Run(50..<100)])
    #expect(rope.visibleIndex(of: 50) == 20 && rope.position(of: 50) == 50)
    #expect(rope.problems() == [])
  }

  @Test func `hidden runs become one when what was between them is hidden`() {
    var rope = typed(30)
    rope.setVisible(0..<10, false)
    rope.setVisible(20..<30, false)
    #expect(runs(rope).count == 3)
    rope.setVisible(10..<20, false)
    #expect(runs(rope) == [Run(0..<30, false)])
    rope.setVisible(0..<30, true)
    #expect(runs(rope) == [Run(0..<30)])
    #expect(rope.problems() == [])
  }

  @Test func `slots are hidden wherever they are`() {
    var rope = typed(10)
    rope.insert(10..<20, after: 4, visible: true)
    rope.setVisible(3..<12, false)
    #expect(
      runs(rope) == [
        Run(0..<3), Run(3..<5, false), Run(10..<12, false), Run(12..<20), Run(5..<10, false),
      ])
    #expect(rope.isVisible(2) && !rope.isVisible(3) && rope.isVisible(12))
    #expect(rope.problems() == [])
  }

  // MARK: removal

  @Test func `removal is from the start, the end and the middle of a run`() {
    var rope = typed(10)
    rope.remove(0)
    rope.remove(9)
    rope.remove(4)
    #expect(runs(rope) == [Run(1..<4), Run(5..<9)])
    #expect(!rope.contains(4) && rope.count == 7)
    #expect(rope.slot(atVisible: 3) == 5)
    #expect(rope.problems() == [])
  }

  @Test func `a slot that was removed can come back`() {
    var rope = typed(10)
    rope.remove(4)
    rope.insert(4..<5, after: 9, visible: false)
    #expect(runs(rope) == [Run(0..<4), Run(5..<10), Run(4..<5, false)])
    rope.remove(4)
    rope.insert(4..<5, after: 3, visible: true)
    #expect(rope.count == 10 && rope.position(of: 9) == 9)
    #expect(rope.problems() == [])
  }

  @Test func `a rope that became empty is as good as a new one`() {
    var rope = typed(3)
    for slot in UInt32(0)..<3 { rope.remove(slot) }
    #expect(rope.count == 0 && rope.first == nil && rope.last == nil)
    #expect(runs(rope).isEmpty)
    rope.insert(0..<3, after: nil, visible: true)
    #expect(runs(rope) == [Run(0..<3)])
    #expect(rope.problems() == [])
  }

  // MARK: values and walks

  @Test func `copies are independent`() {
    var rope = typed(1000)
    let copy = rope
    rope.setVisible(100..<700, false)
    rope.insert(1000..<1500, after: 50, visible: true)
    rope.remove(3)
    #expect(runs(copy) == runs(typed(1000)))
    #expect(copy.contains(3) && !copy.contains(1000))
    #expect(copy.problems() == [] && rope.problems() == [])
  }

  @Test func `a walk ends with an error`() {
    struct Enough: Error, Equatable {
      var slot: UInt32
    }
    var rope = typed(10)
    rope.setVisible(4..<6, false)
    #expect(throws: Enough(slot: 4)) {
      try rope.forEachRun { slots, isVisible throws(Enough) in
        if !isVisible { throw Enough(slot: slots.lowerBound) }
      }
    }
  }

  // MARK: the model

  @Test(arguments: 1...24 as ClosedRange<UInt64>)
  func `random changes do what they do to an array`(_ seed: UInt64) {
    var model = RopeModel(seed: seed)
    let longest = [3, 12, 40, 400][Int(seed % 4)]
    for step in 0..<600 {
      model.change(longest: longest)
      if step % 3 == 0 { model.expectLookUp() }
      if step % 20 == 0 { model.expectSame() }
    }
    model.expectSame()
    model.expectPlaces()
  }

  /// Leaves are merged and dropped under the feet of the look-up that went there last.
  @Test(arguments: [0, 1, 2])
  func `look-ups between changes are right`(_ pattern: Int) {
    var model = RopeModel(seed: UInt64(pattern))
    for _ in 0..<1200 { model.insertNew(1, at: model.random.below(model.nodes.count + 1)) }
    while model.nodes.count > 0 {
      let last = model.nodes.count - 1
      let index = [0, last / 2, last][pattern]
      #expect(model.rope.slot(atVisible: index) == model.nodes[index].slot)
      // Hidden first, every other time: then the removal changes no visible count.
      if last % 2 == 0 { model.setVisible(index, false) }
      model.remove(index)
      for near in [index - 1, index] where model.nodes.indices.contains(near) {
        #expect(model.rope.slot(atVisible: near) == model.nodes[near].slot)
      }
      if last % 10 == 0 { #expect(model.rope.problems() == []) }
    }
    model.expectSame()
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `a deep tree grows and shrinks`(_ seed: UInt64) {
    var model = RopeModel(seed: seed)
    for _ in 0..<12_000 {
      let index = model.random.below(model.nodes.count + 1)
      model.insertNew(1, at: index, visible: model.random.below(3) > 0)
    }
    model.expectSame()
    model.expectPlaces()
    var copy = model
    while model.nodes.count > 0 {
      model.remove(model.random.below(model.nodes.count))
      if model.nodes.count % 1500 == 0 { model.expectSame() }
    }
    // In one sweep, leaf after leaf.
    while copy.nodes.count > 0 {
      copy.remove(copy.nodes.count - 1)
      if copy.nodes.count % 1500 == 0 { copy.expectSame() }
    }
    copy.insertNew(5, at: 0)
    copy.expectSame()
  }

  @Test func `many nodes at once go into one place`() {
    var model = RopeModel(seed: 7)
    model.insertNew(20, at: 0)
    model.insertNew(100_000, at: 10)
    model.insertNew(50_000, at: 60_000, visible: false)
    model.expectSame()
    model.setVisible(60_000, true)
    model.rope.setVisible(20..<100_020, false)
    for index in model.nodes.indices where (20..<100_020).contains(model.nodes[index].slot) {
      model.nodes[index].isVisible = false
    }
    model.expectSame()
  }
}
