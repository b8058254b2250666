import CairnBytes

/// Reads what `ListStateCoding` describes. Nothing is believed: every name must be there, no node
/// may be listed twice, and every node must hang on a root.
struct ListStateReader {
  private(set) var reader: ByteReader
  /// How many nodes may still come.
  private(set) var room: Int
  private var stamps: [Stamp] = []
  private var firsts: [UInt32] = []
  private var total: UInt32 = 0
  private var parents: [UInt32] = []
  private var rope = Rope()
  private var roots: [UInt32] = []
  private var visible: [UInt32] = []

  init(reader: ByteReader, room: Int) {
    self.reader = reader
    self.room = room
  }

  mutating func read() throws(DecodeError) -> ListState {
    let created = try reader.u8()
    guard created <= 1 else { throw .newer("a list of an unknown kind") }
    try readDeltas()
    try readRuns()
    try checkTree()
    var state = ListState(
      isCreated: created == 1, rope: rope, parents: parents, roots: roots)
    for (first, stamp) in zip(firsts, stamps) { state.authors.append(first: first, stamp) }
    state.fillChildren()
    let values = try ListItemsCoding.decode(visible.count, &reader)
    let moved = try readMoves(into: &state)
    state.items = items(values, moved)
    state.markPlaces()
    try readReplaced(into: &state)
    state.bytes = visible.reduce(0) { $0 + state.items.size(Int(state.item(of: $1))) }
    return state
  }

  private mutating func readDeltas() throws(DecodeError) {
    let devices = try reader.count(minimumSize: 12)
    // Each is looked for among those before it.
    guard devices < FormatBounds.devices else { throw .limit }
    for _ in 0..<devices {
      let device = DeviceID(rawValue: try reader.u64())
      guard device.rawValue != 0 else { throw .malformed("a device without a number") }
      var (sequence, time): (UInt64, Int64) = (0, 0)
      if let last = stamps.last, last.dot.device >= device {
        throw .malformed("devices out of order")
      }
      for _ in 0..<(try reader.count(minimumSize: 3)) {
        let step = try reader.varint()
        let (next, overflow) = sequence.addingReportingOverflow(step)
        guard step > 0, !overflow else { throw .malformed("deltas of a list out of order") }
        sequence = next
        time = time &+ (try reader.zigzag())
        let count = try reader.varint()
        guard count > 0, count <= UInt64(room) else { throw .limit }
        room -= Int(count)
        stamps.append(Stamp(dot: Dot(device: device, sequence: sequence), time: time))
        firsts.append(total)
        total += UInt32(count)
      }
    }
  }

  private mutating func node() throws(DecodeError) -> UInt32 {
    try node(try reader.varint())
  }

  private mutating func node(_ delta: UInt64) throws(DecodeError) -> UInt32 {
    let index = try reader.varint()
    guard delta < UInt64(firsts.count) else { throw .malformed("a list's unknown delta") }
    let end = Int(delta) + 1 < firsts.count ? firsts[Int(delta) + 1] : total
    guard index < UInt64(end - firsts[Int(delta)]) else {
      throw .malformed("a list's unknown node")
    }
    return firsts[Int(delta)] + UInt32(index)
  }

  private mutating func readRuns() throws(DecodeError) {
    parents = [UInt32](repeating: ListState.rootParent, count: Int(total))
    let count = try reader.count()
    guard count > 0 else { throw .malformed("a list without a root") }
    var last: UInt32?
    // A run whose first node hangs on the left of the next run's.
    var waiting: UInt32?
    for _ in 0..<count {
      let head = try reader.varint()
      guard let kind = ListStateCoding.Kind(rawValue: head & 3),
        let hang = ListStateCoding.Hang(rawValue: head >> 2 & 3), head >> 5 > 0,
        head >> 5 <= UInt64(total), kind != .root || head >> 5 == 1
      else { throw .malformed("a run of a list") }
      let start = head & 16 == 0 ? (last.map { $0 + 1 } ?? 0) : try node()
      let end = UInt64(start) + head >> 5
      guard end <= UInt64(total) else { throw .malformed("a run behind its list") }
      let slots = start..<UInt32(end)
      guard !slots.contains(where: rope.contains) else {
        throw .malformed("a node is there twice")
      }
      if let node = waiting { parents[Int(node)] = ListState.key(start, .left) }
      waiting = nil
      for slot in slots.dropFirst() { parents[Int(slot)] = ListState.key(slot - 1, .right) }
      if kind == .root {
        roots.append(start)
      } else {
        try attach(start, hang, last, &waiting)
      }
      rope.insert(slots, after: last, visible: kind == .visible)
      if kind == .visible { visible += slots }
      last = slots.last
    }
    guard waiting == nil else { throw .malformed("a list ends before its last node's parent") }
  }

  private mutating func attach(
    _ start: UInt32, _ hang: ListStateCoding.Hang, _ last: UInt32?, _ waiting: inout UInt32?
  ) throws(DecodeError) {
    switch hang {
    case .onLast:
      guard let last else { throw .malformed("a list that does not start with a root") }
      parents[Int(start)] = ListState.key(last, .right)
    case .onNext: waiting = start
    case .explicitRight: parents[Int(start)] = ListState.key(try node(), .right)
    case .explicitLeft: parents[Int(start)] = ListState.key(try node(), .left)
    }
  }

  /// Every node hangs on a root: else looking for a place would never end.
  private func checkTree() throws(DecodeError) {
    guard !roots.isEmpty else { throw .malformed("a list without a root") }
    let roots = Set(roots)
    var isGood = [Bool](repeating: false, count: Int(total))
    var path: [UInt32] = []
    for slot in 0..<total where rope.contains(slot) && !isGood[Int(slot)] {
      var node = slot
      path.removeAll(keepingCapacity: true)
      while !isGood[Int(node)], !roots.contains(node) {
        path.append(node)
        let parent = parents[Int(node)] >> 1
        guard parents[Int(node)] != ListState.rootParent, parent < total, rope.contains(parent),
          parents[Int(node)] & 1 == 0 || !roots.contains(parent), path.count <= Int(total)
        else { throw .malformed("a node of a list hangs on nothing") }
        node = parent
      }
      isGood[Int(node)] = true
      for node in path { isGood[Int(node)] = true }
    }
  }

  private struct Moved {
    /// All places that items were moved to.
    var nodes: Set<UInt32> = []
    /// Items by the visible nodes that they were moved to.
    var places: [UInt32: UInt32] = [:]
    /// Values of the items that have no place.
    var lost: [UInt32: FieldValue] = [:]
  }

  private func items(_ values: ListItems, _ moved: Moved) -> ListItems {
    var cells = [Cell](repeating: Cell(tag: ListItems.none), count: Int(total))
    for (index, node) in visible.enumerated() {
      cells[Int(moved.places[node] ?? node)] = values.cell(index)
    }
    var items = values
    items.tags.removeAll(keepingCapacity: true)
    items.words.removeAll(keepingCapacity: true)
    for cell in cells { items.append(cell) }
    for (item, value) in moved.lost { items.set(Int(item), Cell(value, heap: &items.heap)) }
    return items
  }

  private mutating func readMoves(
    into state: inout ListState
  ) throws(DecodeError) -> Moved {
    var moved = Moved()
    for _ in 0..<(try reader.count(minimumSize: 5)) {
      let item = try node()
      var survivors: [ListState.Move] = []
      for _ in 0..<(try reader.count(minimumSize: 2)) {
        let delta = try reader.varint()
        if delta == UInt64(firsts.count) {
          let stamp = try ListStampCoding.read(&reader)
          survivors.append(ListState.Move(stamp: stamp, node: ListState.lost))
        } else {
          let node = try node(delta)
          guard rope.contains(node), moved.nodes.insert(node).inserted else {
            throw .malformed("a place of a list's item")
          }
          let stamp = state.authors.stamp(of: node)
          survivors.append(ListState.Move(stamp: stamp, node: node))
        }
      }
      guard let first = survivors.first, state.moves[item] == nil, rope.contains(item),
        !rope.isVisible(item)
      else { throw .malformed("moves of a list's item") }
      if first.node == ListState.lost {
        moved.lost[item] = try ListItemsCoding.decode(1, &reader).value(0)
      } else {
        guard rope.isVisible(first.node) else {
          throw .malformed("a place of a list's item")
        }
        moved.places[first.node] = item
      }
      for move in survivors.dropFirst() where move.node != ListState.lost {
        guard !rope.isVisible(move.node) else { throw .malformed("a place of a list's item") }
      }
      state.moves[item] = survivors
    }
    guard moved.nodes.allSatisfy({ state.moves[$0] == nil }),
      roots.allSatisfy({ state.moves[$0] == nil && !moved.nodes.contains($0) })
    else { throw .malformed("a moved item at another's place") }
    return moved
  }

  private mutating func readReplaced(into state: inout ListState) throws(DecodeError) {
    for _ in 0..<(try reader.count(minimumSize: 6)) {
      let item = try node()
      // Those of a stamp: values may be booleans, which take a bit each.
      let count = try reader.count(minimumSize: 10)
      var stamps: [Stamp] = []
      for _ in 0..<count { stamps.append(try ListStampCoding.read(&reader)) }
      let values = try ListItemsCoding.decode(count, &reader)
      guard count > 0, state.isAlive(item), state.replaced[item] == nil,
        values.value(0) == state.items.value(Int(item))
      else { throw .malformed("values of a list's item") }
      state.setReplaced(
        item,
        stamps.indices.map { ListState.Replaced(stamp: stamps[$0], value: values.value($0)) })
    }
  }
}
