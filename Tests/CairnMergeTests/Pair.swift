import CairnMerge
import TestSupport

/// Two devices that share a past, then go apart, then meet. All that `remote` does comes before all
/// that `local` does in commit order.
struct Pair {
  var remote = Replica(1, time: 1_000)
  var local = Replica(2, time: 2_000)
  private var remoteDeltas: [WireDelta] = []
  private var localDeltas: [WireDelta] = []

  /// `shared` is committed by a third device before the two go apart.
  init(shared: [ReferenceIntent] = []) {
    if shared.isEmpty { return }
    var other = Replica(3)
    let (delta, _) = other.commit(shared.map { .init("r", $0) })
    remote.apply(delta)
    local.apply(delta)
  }

  /// One delta each.
  mutating func onRemote(_ intents: ReferenceIntent...) { onRemote(intents) }
  mutating func onLocal(_ intents: ReferenceIntent...) { onLocal(intents) }

  mutating func onRemote(_ intents: [ReferenceIntent]) {
    remoteDeltas.append(remote.commit(intents.map { .init("r", $0) }).0)
  }

  mutating func onLocal(_ intents: [ReferenceIntent]) {
    localDeltas.append(local.commit(intents.map { .init("r", $0) }).0)
  }

  /// Both hear what the other has done.
  mutating func meet() {
    for delta in localDeltas { remote.apply(delta) }
    for delta in remoteDeltas { local.apply(delta) }
    (localDeltas, remoteDeltas) = ([], [])
  }

  /// The record where both have met; nil if they differ, which no test expects.
  var met: RecordState? {
    remote.records == local.records ? local.state("r") : nil
  }
}

extension ReferenceIntent {
  static func set(_ field: String, _ value: FieldValue?, _ rule: Rule = .remote) -> Self {
    .set(field: field, value, rule)
  }
}

extension Replica {
  /// One delta on the record "r".
  mutating func write(_ intents: ReferenceIntent...) -> WireDelta {
    commit(intents.map { .init("r", $0) }).0
  }

  mutating func apply(_ deltas: [WireDelta]) {
    for delta in deltas { apply(delta) }
  }
}
