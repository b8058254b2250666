package import CairnBytes

/// Makes the deltas that only one copy of a device has those of a device of their own.
///
/// Everything else about them stays: times, values, and what their author had seen. So what the
/// copies did apart from one another is concurrent, and merges by the rules like the work of any
/// two devices. Running totals are split: what the device had added before its copies parted stays
/// the old device's, what came after is the new one's, as a run of its own.
package struct Reauthoring: Sendable {
  /// Unpacked bytes of one pack, about.
  private static let packBytes = 4 << 20

  private let common: CommonBranch
  private let author: DeviceID
  /// What there is of each device: nothing may build on more, or it could never be applied.
  private let present: VersionVector
  /// Cuts that are there, if some of what was seen here is of a history that has lost.
  private let cuts: [Cut]
  /// Everything that is there counts as seen.
  private let isOnTop: Bool
  private var writer: PackWriter
  private var finished: [[UInt8]] = []
  /// Additions behind the common branch, by field: in the numbers of the old device.
  private var runs: [CommonBranch.FieldName: [CommonBranch.Run]] = [:]
  /// What is committed on top, by its new number: what it had seen that the delta before it had
  /// not.
  package private(set) var seen: [UInt64: [Dot]] = [:]
  /// The last delta of the old device that was taken.
  package private(set) var last: UInt64
  /// An addition goes on from one in the common branch, and how far that had come is not known: it
  /// would count twice. What came of it is not to be used.
  package private(set) var isUncertain = false

  /// - Parameter author: who the deltas are to be of; the device itself if it keeps its name, and
  ///   only what is not there any more has to be forgotten.
  package init(
    _ common: CommonBranch, author: DeviceID, present: VersionVector, cuts: [Cut] = [],
    isOnTop: Bool = false
  ) {
    self.isOnTop = isOnTop
    self.cuts = cuts
    self.common = common
    self.author = author
    self.present = present
    last = common.last
    writer = PackWriter(device: author, first: author == common.device ? common.last + 1 : 1)
  }

  private var isRenamed: Bool { author != common.device }

  private func moved(_ sequence: UInt64) -> UInt64 {
    isRenamed ? sequence - common.last : sequence
  }

  private func moved(_ dot: Dot) -> Dot {
    guard isRenamed, dot.device == common.device, dot.sequence > common.last else { return dot }
    return Dot(device: author, sequence: dot.sequence - common.last)
  }

  private func moved(_ node: NodeID) -> NodeID { NodeID(moved(node.dot), node.index) }

  /// Takes the next deltas of the old device; those that were taken before are left out.
  package mutating func add(pack: [UInt8]) throws(DecodeError) {
    if isUncertain { return }
    var reader = try PackReader(pack)
    var delta = Delta()
    var map: [UInt32] = []
    while try reader.next(into: &delta) {
      guard delta.dot.sequence > last else { continue }
      guard delta.dot.device == common.device, delta.dot.sequence == last + 1 else {
        throw .malformed("deltas that do not follow one another")
      }
      last += 1
      dropCuts(of: &delta, reader.records)
      if isOnTop, !delta.dependencies.isEmpty { seen[moved(last)] = delta.dependencies }
      delta.dependencies = dependencies(delta)
      if isRenamed { try rename(&delta, reader.records) }
      if isUncertain { return }
      writer.append(delta, heap: reader.heap, names: reader.records, map: &map)
      if writer.byteCount >= Reauthoring.packBytes {
        finished.append(writer.bytes())
        writer = PackWriter(device: author, first: writer.nextSequence)
        map = []
      }
    }
  }

  /// What came of it, in order.
  package var packs: [[UInt8]] { writer.isEmpty ? finished : finished + [writer.bytes()] }

  /// The last delta of the author.
  package var lastMoved: UInt64 { moved(last) }

  // MARK: one delta

  /// Cuts are about the deltas that they were made with. That devices are retired, or have left
  /// their names, goes on: nobody would say it again.
  ///
  /// What is committed on top goes by what the others have agreed on. And nobody is back under a
  /// name by what it has written if that gets another one.
  private func dropCuts(of delta: inout Delta, _ names: [RecordName]) {
    if isOnTop {
      delta.drop(table: Cut.table)
      return
    }
    let own = isRenamed ? "\(Cut.retirement)\(common.device)" : ""
    delta.drop(table: Cut.table) { reference in
      let name = names[Int(reference)].text
      return name.hasPrefix(Cut.retirement) && name != own
    }
  }

  private func dependencies(_ delta: Delta) -> [Dot] {
    if isOnTop {
      return delta.dot.sequence == common.last + 1 ? Array(present.entries) : []
    }
    var seen = VersionVector(delta.dependencies)
    if isRenamed, delta.dot.sequence == common.last + 1 {
      // The first delta of a device says all that it had seen.
      seen.merge(common.context)
      if common.last > 0 { seen[common.device] = common.last }
    }
    seen[author] = 0
    var known = seen.meet(present)
    // Beside a cut nobody would apply it; and who has seen one has seen all that is behind it.
    for cut in cuts where seen.contains(cut.dot) { known.merge(cut.context) }
    known[author] = 0
    return Array(known.entries)
  }

  private mutating func rename(_ delta: inout Delta, _ names: [RecordName]) throws(DecodeError) {
    let sequence = delta.dot.sequence
    delta.forEachAddition(names) { name, addition in
      if !common.knowsRun(addition.since, name) { isUncertain = true }
      runs[name, default: []].append(
        CommonBranch.Run(since: addition.since, last: sequence, total: addition.total))
    }
    if isUncertain, common.knowsAdditions {
      throw .malformed("a sum that goes on with a run which never began")
    }
    if isUncertain { return }
    for section in delta.sections {
      for column in delta.columns[section.columns] {
        for cell in column.cells {
          rename(cell, delta.fieldName(section, column, cell, names), &delta)
        }
      }
    }
    for (row, dots) in delta.born.pairs { delta.born[row] = dots.map(moved).sorted() }
    delta.dot = moved(delta.dot)
  }

  private func rename(_ cell: Int, _ name: CommonBranch.FieldName, _ delta: inout Delta) {
    if let addition = delta.totals[cell] {
      delta.totals[cell] = split(addition, name)
    }
    if let covered = delta.covered[cell] {
      delta.covered[cell] = covered.flatMap { split($0, name) }.sorted { $0.device < $1.device }
    }
    if let edit = delta.edits[cell] { delta.edits[cell] = edit.renamed(moved) }
  }

  // MARK: running totals

  /// What the device had added to a field in a run when the copies parted; nil if the run began
  /// after that.
  private func begun(_ since: UInt64, _ name: CommonBranch.FieldName) -> CommonBranch.Run? {
    guard since <= common.last, let run = common.additions[name], run.since == since else {
      return nil
    }
    return run
  }

  private func split(
    _ addition: Delta.Addition, _ name: CommonBranch.FieldName
  ) -> Delta.Addition {
    guard let begun = begun(addition.since, name) else {
      return Delta.Addition(since: moved(addition.since), total: addition.total)
    }
    // The addition itself is among them.
    let first = runs[name]?.first { $0.since == addition.since }?.last ?? last
    return Delta.Addition(since: moved(first), total: rest(addition.total, begun.total))
  }

  private func split(
    _ running: RunningTotal, _ name: CommonBranch.FieldName
  ) -> [RunningTotal] {
    guard running.device == common.device, running.last > common.last else { return [running] }
    let since = runs[name]?.first { $0.last == running.last }?.since ?? running.last
    guard let begun = begun(since, name) else {
      return [RunningTotal(device: author, last: moved(running.last), total: running.total)]
    }
    return [
      RunningTotal(device: common.device, last: begun.last, total: begun.total),
      RunningTotal(
        device: author, last: moved(running.last), total: rest(running.total, begun.total)),
    ]
  }

  /// What of a total came after it had been `begun`. Two that doubles can hold may lie further
  /// apart than one can, and nobody reads a total that is infinite.
  private func rest(_ total: Number, _ begun: Number) -> Number {
    let rest = total.subtracting(begun)
    guard case .double(let value) = rest, !value.isFinite else { return rest }
    let most = Double.greatestFiniteMagnitude
    return .double(value < 0 ? -most : most)
  }
}

extension ListEdit {
  /// With the names that deltas have now: their devices may have left the ones that they had.
  package func renamed(dots name: (Dot) -> Dot) -> ListEdit {
    renamed { NodeID(name($0.dot), $0.index) }
  }

  /// With other names for deltas, in the order that these ask for.
  func renamed(_ name: (NodeID) -> NodeID) -> ListEdit {
    var edit = self
    for index in edit.chains.indices {
      edit.chains[index].parent = name(edit.chains[index].parent)
      for move in edit.chains[index].moves.indices {
        edit.chains[index].moves[move].item = name(edit.chains[index].moves[move].item)
      }
    }
    edit.deleted = deleted.map { Span(first: name($0.first), count: $0.count) }
      .sorted { $0.first < $1.first }
    let order = replaced.indices.map { (name(replaced[$0]), $0) }.sorted { $0.0 < $1.0 }
    edit.replaced = order.map(\.0)
    edit.replacements = ListItems(order.map { replacements.value($0.1) })
    return edit
  }
}
