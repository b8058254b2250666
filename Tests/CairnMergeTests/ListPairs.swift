import CairnMerge

/// One operation on a list, by index.
enum ListStep: Hashable {
  case insert(Int)
  case remove(Int)
  case replace(Int)
  case move(Int, Int)

  /// All that can be done to a list of `count` items.
  static func all(_ count: Int) -> [ListStep] {
    (0...count).map(insert) + (0..<count).map(remove) + (0..<count).map(replace)
      + (0..<count).flatMap { source in (0..<count).map { move(source, $0) } }
  }

  func apply(to list: inout ListState, _ value: FieldValue) {
    switch self {
    case .insert(let index): list.insert(value, at: index)
    case .remove(let index): list.remove(at: index)
    case .replace(let index): list.replace(at: index, with: value)
    case .move(let source, let target): list.move(from: source, to: target)
    }
  }

  var isForwardMove: Bool {
    if case .move(let source, let target) = self { target > source } else { false }
  }

  /// The gap that an arrival goes to; none without an arrival.
  var gap: Int? {
    switch self {
    case .insert(let index): index
    case .remove, .replace: nil
    case .move(let source, let target):
      target == source ? nil : target < source ? target : target + 1
    }
  }

  var moved: Int? {
    if case .move(let source, let target) = self, source != target { source } else { nil }
  }

  var removed: Int? { if case .remove(let index) = self { index } else { nil } }
  var replaced: Int? { if case .replace(let index) = self { index } else { nil } }
}

/// What comes of two single operations on one list, one on each device, of which the remote one was
/// committed first: walk gaps and items of the old list in order; what either side removed or moved
/// is skipped; arrivals are put into their gaps, the remote one first.
struct ListPairRule {
  var items: [FieldValue]
  var remote: ListStep
  var local: ListStep
  var remoteValue: FieldValue
  var localValue: FieldValue
  var rule = Rule.remote
  /// In the classic rule a local move forward goes before a remote arrival in the same gap.
  var localForwardMoveFirst = true

  /// Whether both put something into one gap, and the local one is a move forward.
  var isException: Bool {
    guard local.isForwardMove, let gap = arrival(local, localValue)?.gap else { return false }
    return arrival(remote, remoteValue)?.gap == gap
  }

  private func value(of index: Int) -> FieldValue {
    switch (remote.replaced == index, local.replaced == index) {
    case (true, true):
      switch rule {
      case .remote, .sum: remoteValue
      case .local: localValue
      case .max: FieldValue.ordered(localValue, remoteValue) > 0 ? localValue : remoteValue
      case .min: FieldValue.ordered(localValue, remoteValue) < 0 ? localValue : remoteValue
      }
    case (true, false): remoteValue
    case (false, true): localValue
    case (false, false): items[index]
    }
  }

  /// What a side puts into which gap.
  private func arrival(
    _ step: ListStep, _ inserted: FieldValue
  ) -> (gap: Int, value: FieldValue)? {
    guard let gap = step.gap else { return nil }
    guard let moved = step.moved else { return (gap, inserted) }
    if remote.removed == moved || local.removed == moved { return nil }
    return (gap, value(of: moved))
  }

  var merged: [FieldValue] {
    let remoteArrival = arrival(remote, remoteValue)
    var localArrival = arrival(local, localValue)
    // The same item moved by both: where the remote one put it.
    if let moved = remote.moved, local.moved == moved { localArrival = nil }
    var result: [FieldValue] = []
    for gap in 0...items.count {
      let fromRemote = remoteArrival?.gap == gap ? [remoteArrival?.value].compactMap(\.self) : []
      let fromLocal = localArrival?.gap == gap ? [localArrival?.value].compactMap(\.self) : []
      let isLocalFirst = local.isForwardMove && localForwardMoveFirst
      result += isLocalFirst ? fromLocal + fromRemote : fromRemote + fromLocal
      if gap == items.count { break }
      let isGone = [remote, local].contains { $0.removed == gap || $0.moved == gap }
      if !isGone { result.append(value(of: gap)) }
    }
    return result
  }
}

/// Two devices with copies of one list; what the remote one does is committed first.
struct ListPair {
  static let base = Stamp(dot: Dot(device: DeviceID(rawValue: 3), sequence: 1), time: 1)

  var remote: ListState
  var local: ListState
  private var remoteEdits: [(ListEdit, Stamp, VersionVector)] = []
  private var localEdits: [(ListEdit, Stamp, VersionVector)] = []

  init(_ items: [FieldValue]) {
    remote = ListState(items, stamp: Self.base, isCreated: false)
    local = remote
  }

  /// One delta.
  mutating func onRemote(_ body: (inout ListState) -> Void) {
    Self.commit(&remote, &remoteEdits, device: 1, time: 100, body)
  }

  mutating func onLocal(_ body: (inout ListState) -> Void) {
    Self.commit(&local, &localEdits, device: 2, time: 200, body)
  }

  private static func commit(
    _ list: inout ListState, _ edits: inout [(ListEdit, Stamp, VersionVector)], device: UInt64,
    time: Int64, _ body: (inout ListState) -> Void
  ) {
    body(&list)
    guard let edit = list.collect() else { return list.rollBack() }
    let dot = Dot(device: DeviceID(rawValue: device), sequence: UInt64(edits.count) + 1)
    let stamp = Stamp(dot: dot, time: time + Int64(edits.count))
    let context = VersionVector([base.dot, dot])
    list.commit(edit, stamp: stamp, context: context)
    edits.append((edit, stamp, context))
  }

  /// The list where both have met; nil if they differ, which no test expects.
  mutating func meet() -> ListState? {
    for (edit, stamp, context) in localEdits { remote.apply(edit, stamp: stamp, context: context) }
    for (edit, stamp, context) in remoteEdits { local.apply(edit, stamp: stamp, context: context) }
    (localEdits, remoteEdits) = ([], [])
    return remote == local && remote.values(.remote) == local.values(.remote) ? local : nil
  }
}
