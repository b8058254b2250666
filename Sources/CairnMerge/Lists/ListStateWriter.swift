import CairnBytes

/// Writes what `ListStateCoding` describes.
struct ListStateWriter {
  let list: ListState
  /// Batches of the list by their number in the file, and the other way round.
  private var order: [Int] = []
  private var numbers: [Int]
  /// By number in the file: how many of its nodes count (those up to the last that is in the list).
  private var counts: [UInt32] = []

  init(_ list: ListState) {
    self.list = list
    var used = [UInt32](repeating: 0, count: list.authors.stamps.count)
    list.rope.forEachRun { slots, _ in
      for slot in slots {
        let batch = list.authors.batch(of: slot)
        used[batch] = max(used[batch], slot - list.authors.firsts[batch] + 1)
      }
    }
    // A move that leads nowhere is still known by its delta.
    order = used.indices.filter { used[$0] > 0 }.sorted {
      list.authors.stamps[$0].dot < list.authors.stamps[$1].dot
    }
    numbers = [Int](repeating: -1, count: used.count)
    for (number, batch) in order.enumerated() { numbers[batch] = number }
    counts = order.map { used[$0] }
  }

  mutating func write(into out: inout [UInt8]) {
    out.put(UInt8(list.isCreated ? 1 : 0))
    writeDeltas(into: &out)
    writeRuns(into: &out)
    writeValues(into: &out)
    writeMoves(into: &out)
    writeReplaced(into: &out)
  }

  private func writeDeltas(into out: inout [UInt8]) {
    let stamps = order.map { list.authors.stamps[$0] }
    var index = 0
    out.putVarint(Set(stamps.map(\.dot.device)).count)
    while index < stamps.count {
      let device = stamps[index].dot.device
      let end = stamps[index...].firstIndex { $0.dot.device != device } ?? stamps.count
      out.put(device.rawValue)
      out.putVarint(end - index)
      var (sequence, time): (UInt64, Int64) = (0, 0)
      while index < end {
        out.putVarint(stamps[index].dot.sequence - sequence)
        out.putZigzag(stamps[index].time &- time)
        out.putVarint(UInt64(counts[index]))
        (sequence, time) = (stamps[index].dot.sequence, stamps[index].time)
        index += 1
      }
    }
  }

  /// A node by its delta's number and its own.
  private func name(_ slot: UInt32) -> ListNodeName {
    let batch = list.authors.batch(of: slot)
    return ListNodeName(delta: numbers[batch], index: slot - list.authors.firsts[batch])
  }

  private func put(_ name: ListNodeName, into out: inout [UInt8]) {
    out.putVarint(name.delta)
    out.putVarint(UInt64(name.index))
  }

  private func successor(_ name: ListNodeName) -> ListNodeName {
    if name.index + 1 < counts[name.delta] {
      return ListNodeName(delta: name.delta, index: name.index + 1)
    }
    return ListNodeName(delta: name.delta + 1, index: 0)
  }

  private struct Run {
    var first: UInt32
    var start: ListNodeName
    var count = 1
    var kind: ListStateCoding.Kind
    var last: UInt32
    var lastName: ListNodeName
  }

  private func runs() -> [Run] {
    var runs: [Run] = []
    let roots = Set(list.roots)
    list.rope.forEachRun { slots, isVisible in
      for slot in slots {
        let name = name(slot)
        let kind: ListStateCoding.Kind =
          roots.contains(slot) ? .root : isVisible ? .visible : .hidden
        if let run = runs.last, run.kind == kind, kind != .root, successor(run.lastName) == name,
          list.parents[Int(slot)] == ListState.key(run.last, .right)
        {
          runs[runs.count - 1].count += 1
          runs[runs.count - 1].last = slot
          runs[runs.count - 1].lastName = name
        } else {
          runs.append(
            Run(first: slot, start: name, kind: kind, last: slot, lastName: name))
        }
      }
    }
    return runs
  }

  private func writeRuns(into out: inout [UInt8]) {
    let runs = runs()
    out.putVarint(runs.count)
    for (index, run) in runs.enumerated() {
      let before = index > 0 ? runs[index - 1] : nil
      let after = index + 1 < runs.count ? runs[index + 1] : nil
      let continues = before.map { successor($0.lastName) == run.start } ?? false
      let key = list.parents[Int(run.first)]
      let hang: ListStateCoding.Hang
      if run.kind == .root || before.map({ key == ListState.key($0.last, .right) }) ?? false {
        hang = .onLast
      } else if let after, key == ListState.key(after.first, .left) {
        hang = .onNext
      } else {
        hang = key & 1 == 0 ? .explicitRight : .explicitLeft
      }
      out.putVarint(
        UInt64(run.count) << 5 | (continues ? 0 : 16) | hang.rawValue << 2 | run.kind.rawValue)
      if !continues { put(run.start, into: &out) }
      if hang == .explicitRight || hang == .explicitLeft { put(name(key >> 1), into: &out) }
    }
  }

  private func writeValues(into out: inout [UInt8]) {
    var values = ListItems()
    list.rope.forEachRun { slots, isVisible in
      if !isVisible { return }
      for slot in slots { values.append(Int(list.item(of: slot)), of: list.items) }
    }
    ListItemsCoding.encode(values, into: &out)
  }

  private func writeMoves(into out: inout [UInt8]) {
    let moved = list.moves.keys.filter(list.isAlive).map { (name: name($0), item: $0) }
      .sorted { $0.name < $1.name }
    out.putVarint(moved.count)
    for (name, item) in moved {
      let survivors = list.moves[item] ?? []
      put(name, into: &out)
      out.putVarint(survivors.count)
      for move in survivors {
        if move.node == ListState.lost {
          out.putVarint(order.count)
          ListStampCoding.put(move.stamp, into: &out)
        } else {
          put(self.name(move.node), into: &out)
        }
      }
      if survivors.first?.node == ListState.lost {
        var lost = ListItems()
        lost.append(Int(item), of: list.items)
        ListItemsCoding.encode(lost, into: &out)
      }
    }
  }

  private func writeReplaced(into out: inout [UInt8]) {
    let replaced = list.replaced.keys.filter(list.isAlive).map { (name: name($0), item: $0) }
      .sorted { $0.name < $1.name }
    out.putVarint(replaced.count)
    for (name, item) in replaced {
      let survivors = list.replaced[item] ?? []
      put(name, into: &out)
      out.putVarint(survivors.count)
      for survivor in survivors { ListStampCoding.put(survivor.stamp, into: &out) }
      ListItemsCoding.encode(ListItems(survivors.map(\.value)), into: &out)
    }
  }
}

/// A node in a stored list: the number of its delta there, and its own.
struct ListNodeName: Equatable, Comparable {
  var delta: Int
  var index: UInt32

  static func < (a: ListNodeName, b: ListNodeName) -> Bool {
    a.delta == b.delta ? a.index < b.index : a.delta < b.delta
  }
}

/// Stamps in full.
enum ListStampCoding {
  static func put(_ stamp: Stamp, into out: inout [UInt8]) {
    out.put(stamp.dot.device.rawValue)
    out.putVarint(stamp.dot.sequence)
    out.putZigzag(stamp.time)
  }

  static func read(_ reader: inout ByteReader) throws(DecodeError) -> Stamp {
    let device = DeviceID(rawValue: try reader.u64())
    let sequence = try reader.varint()
    return Stamp(dot: Dot(device: device, sequence: sequence), time: try reader.zigzag())
  }
}
