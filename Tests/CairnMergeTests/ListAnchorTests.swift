import TestSupport
import Testing

@testable import CairnMerge

/// Where new nodes come in a list, whatever the tree is like that they hang on.
@Suite struct ListAnchorTests {
  /// A list beside what was said of its nodes.
  private struct Scene {
    var list: ListState
    var parents: [UInt32?] = []
    var sides: [ListEdit.Side] = []
    var stamps: [Stamp] = []
    var sequences: [UInt64: UInt64] = [:]

    init(items: Int) {
      let first = Stamp(dot: Dot(device: DeviceID(rawValue: 9), sequence: 1), time: 0)
      list = ListState(
        [FieldValue](repeating: .bool(true), count: items), stamp: first, isCreated: true)
      sequences[9] = 1
      note(nil, .right, first, 1 + items)
    }

    private mutating func note(
      _ parent: UInt32?, _ side: ListEdit.Side, _ stamp: Stamp, _ count: Int
    ) {
      for number in 0..<count {
        parents.append(number == 0 ? parent : UInt32(parents.count - 1))
        sides.append(number == 0 ? side : .right)
        stamps.append(stamp)
      }
    }

    private mutating func stamp(_ device: UInt64, _ time: Int64) -> Stamp {
      let sequence = sequences[device, default: 0] + 1
      sequences[device] = sequence
      return Stamp(dot: Dot(device: DeviceID(rawValue: device), sequence: sequence), time: time)
    }

    mutating func add(
      _ count: Int = 1, to parent: Int, _ side: ListEdit.Side = .right, device: UInt64 = 1,
      time: Int64
    ) {
      let stamp = stamp(device, time)
      var edit = ListEdit()
      edit.chains = [
        ListEdit.Chain(
          parent: list.authors.id(of: UInt32(parent)), side: side, count: UInt32(count))
      ]
      edit.inserted = ListItems([FieldValue](repeating: .bool(true), count: count))
      list.apply(edit, stamp: stamp, context: VersionVector([stamp.dot]))
      note(UInt32(parent), side, stamp, count)
    }

    mutating func addRoot(items: Int, device: UInt64, time: Int64) {
      let stamp = stamp(device, time)
      list.addRoot([FieldValue](repeating: .bool(true), count: items), stamp: stamp)
      note(nil, .right, stamp, 1 + items)
    }

    /// The nodes as they have to be: child by child.
    var order: [UInt32] {
      var children: [UInt32?: [UInt32]] = [:]
      for slot in parents.indices { children[parents[slot], default: []].append(UInt32(slot)) }
      for key in children.keys { children[key]?.sort { stamps[Int($0)] < stamps[Int($1)] } }
      var result: [UInt32] = []
      func walk(_ slot: UInt32) {
        let all = children[slot] ?? []
        for child in all where sides[Int(child)] == .left { walk(child) }
        result.append(slot)
        for child in all where sides[Int(child)] == .right { walk(child) }
      }
      for root in children[nil] ?? [] { walk(root) }
      return result
    }
  }

  private func slots(_ list: ListState) -> [UInt32] {
    var result: [UInt32] = []
    list.rope.forEachRun { slots, _ in result += slots }
    return result
  }

  @Test(arguments: Array(0..<UInt64(24)))
  func `nodes come where the tree has them, with and without spines`(seed: UInt64) {
    let random = SeededRandom(seed)
    var scene = Scene(items: random.below(4))
    let makesSpines = [0, 10, 60, 1000][Int(seed % 4)]
    for step in 0..<120 {
      if step == makesSpines { scene.list.makeSpines() }
      let (device, time) = (UInt64(1 + random.below(4)), Int64(random.below(200)))
      if random.below(30) == 0 {
        scene.addRoot(items: random.below(3), device: device, time: time)
      } else {
        // Mostly on the last nodes, or on the first, so that the tree becomes deep.
        let count = scene.parents.count
        let parent =
          switch random.below(4) {
          case 0: random.below(count)
          case 1: random.below(min(3, count))
          default: count - 1 - random.below(min(3, count))
          }
        let mayBeLeft = scene.parents[parent] != nil
        scene.add(
          1 + random.below(3), to: parent, mayBeLeft && random.coin() ? .left : .right,
          device: device, time: time)
      }
      #expect(slots(scene.list) == scene.order, "step \(step)")
      #expect(scene.list.isInTreeOrder, "step \(step)")
    }
    #expect(makesSpines == 1000 || !scene.list.spines.isEmpty)
    // What goes as a whole is gone from the spines, too.
    while let root = scene.list.rootDots.last, scene.list.rootDots.count > 1 {
      scene.list.removeRoot(root)
      #expect(scene.list.isInTreeOrder)
    }
    let last = scene.list.rope.last.map(Int.init) ?? 0
    scene.add(2, to: last, time: 300)
    scene.add(1, to: last, time: 299)
    #expect(scene.list.isInTreeOrder)
  }

  /// Few bytes can ask for as many steps as there are nodes, each time.
  @Test(arguments: 0..<4)
  func `steps through the tree are as many as nodes, not many times as many`(kind: Int) {
    let (long, many) = (30_000, 1500)
    var scene = Scene(items: 1)
    switch kind {
    // All behind a long chain, each before the one that came before it.
    case 0:
      scene.add(long, to: 0, time: 1)
      for number in 0..<many { scene.add(to: 0, time: Int64(10_000 - number)) }
    // Each last of all.
    case 1:
      scene.add(long, to: 0, time: 1)
      for number in 0..<many { scene.add(to: 0, time: Int64(10 + number)) }
    // One behind each of the first nodes of the chain: all its other nodes are before it.
    case 2:
      scene.add(long, to: 0, time: 1)
      for number in 0..<many { scene.add(to: 2 + number, time: Int64(10 + number)) }
    // Before a way to the left.
    default:
      for number in 0..<many { scene.add(to: 1 + number, .left, time: 1000) }
      for number in 0..<many { scene.add(to: 1, .left, device: 2, time: Int64(999 - number)) }
      for number in 0..<many { scene.add(to: 1, .left, device: 3, time: Int64(990 - number)) }
    }
    #expect(scene.list.walked < 8 * scene.parents.count + 10_000)
    #expect(scene.list.isInTreeOrder)
  }

  /// Where all come before the ones that came before them.
  @Test func `siblings are put in where they lie`() {
    var scene = Scene(items: 1)
    for number in 0..<5000 { scene.add(to: 0, time: Int64(10_000 - number)) }
    #expect(scene.list.children.values.map(\.count).max() == 5000)
    #expect(scene.list.isInTreeOrder)
  }
}
