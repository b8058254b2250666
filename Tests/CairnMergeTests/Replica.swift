import CairnMerge
import TestSupport

/// A delta as it travels between simulated devices.
struct WireDelta {
  struct RecordPart {
    var record: String
    var born: [Dot]
    var changes: [RecordChange]
  }

  var stamp: Stamp
  /// The delta itself included.
  var context: VersionVector
  var parts: [RecordPart]

  var dot: Dot { stamp.dot }
}

/// A simulated device: the records and the causal bookkeeping around them.
struct Replica {
  let device: DeviceID
  var time: Int64
  var records: [String: RecordState] = [:]
  var horizon = Horizon(seen: VersionVector())
  /// For each device, the context of its last delta applied here.
  var contexts: [DeviceID: VersionVector] = [:]
  var acknowledgements: [DeviceID: Stability.Acknowledgement] = [:]

  init(_ device: UInt64, time: Int64 = 0) {
    self.device = DeviceID(rawValue: device)
    self.time = time
  }

  func state(_ record: String) -> RecordState { records[record] ?? RecordState() }

  func canApply(_ delta: WireDelta) -> Bool {
    var needed = delta.context
    needed[delta.dot.device] -= 1
    return !horizon.seen.contains(delta.dot) && horizon.seen.covers(needed)
  }

  mutating func apply(_ delta: WireDelta) {
    for part in delta.parts {
      var state = state(part.record)
      for change in part.changes {
        state.apply(change, stamp: delta.stamp, context: delta.context, born: part.born)
      }
      set(state, for: part.record)
    }
    horizon.seen.insert(delta.dot)
    contexts[delta.dot.device] = delta.context
  }

  /// Commits what an app asked for. The steps of one record stand together.
  mutating func commit(_ steps: [ReferenceDelta.Step]) -> (WireDelta, ReferenceDelta) {
    let dot = Dot(device: device, sequence: horizon.seen[device] + 1)
    time += 1
    var context = horizon.seen
    context.insert(dot)
    let stamp = Stamp(dot: dot, time: time)
    var delta = WireDelta(stamp: stamp, context: context, parts: [])
    for step in steps where !delta.parts.contains(where: { $0.record == step.record }) {
      let mine = steps.filter { $0.record == step.record }.map(\.intent)
      delta.parts.append(part(step.record, mine, stamp: stamp, context: context))
    }
    apply(delta)
    return (delta, ReferenceDelta(stamp: stamp, context: context, steps: steps))
  }

  private func part(
    _ record: String, _ intents: [ReferenceIntent], stamp: Stamp, context: VersionVector
  ) -> WireDelta.RecordPart {
    var state = state(record)
    var part = WireDelta.RecordPart(record: record, born: state.bornOfUpdate, changes: [])
    for intent in intents {
      let change: RecordChange
      switch intent {
      case .delete: change = .delete
      case .insert:
        change = .insert
        part.born = state.bornOfInsert
      case .set(let field, let value, let rule):
        let write = state.register(field).write(value, rule: rule, dot: stamp.dot)
        change = .write(field: field, write)
      }
      part.changes.append(change)
      state.apply(change, stamp: stamp, context: context, born: part.born)
    }
    return part
  }

  mutating func prune(_ fence: VersionVector) {
    horizon.fence.merge(fence)
    for (record, var state) in records {
      state.prune(horizon.fence)
      set(state, for: record)
    }
  }

  /// Takes in what another device has, state by state.
  mutating func join(_ other: Replica) {
    for record in Set(records.keys).union(other.records.keys) {
      let joined = RecordState.join(state(record), horizon, other.state(record), other.horizon)
      set(joined, for: record)
    }
    horizon = horizon.merged(with: other.horizon)
  }

  /// What this device may forget, when `members` take part.
  func stable(_ members: [DeviceID]) -> VersionVector {
    Stability.stable(
      own: horizon.seen, contexts: contexts, acknowledgements: acknowledgements,
      members: members.filter { $0 != device })
  }

  var acknowledgement: Stability.Acknowledgement {
    Stability.Acknowledgement(seen: horizon.seen, sequence: horizon.seen[device])
  }

  private mutating func set(_ state: RecordState, for record: String) {
    records[record] = state.isEmpty ? nil : state
  }
}
