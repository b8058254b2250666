import CairnMerge
import TestSupport

/// A few devices that write into few records and fields, so that conflicts abound, and that hear of
/// each other late and in any causal order.
struct Simulation {
  static let records = ["r", "s"]
  static let fields = ["a", "n"]

  var random: SeededRandom
  var replicas: [Replica]
  var deltas: [WireDelta] = []
  var reference: [ReferenceDelta] = []
  /// Every acknowledgement that was ever published; devices read them late, too.
  var published: [DeviceID: [Stability.Acknowledgement]] = [:]

  init(seed: UInt64, devices: Int? = nil) {
    random = SeededRandom(seed)
    let count = devices ?? 2 + random.below(4)
    let random = random
    // Clocks that are close together or far apart.
    replicas = (1...UInt64(count)).map { Replica($0, time: Int64(random.below(3)) * 5) }
  }

  var members: [DeviceID] { replicas.map(\.device) }

  /// Lets things happen; `afterwards` is told which device did something.
  mutating func run(steps: Int, afterwards: (inout Simulation, Int) -> Void = { _, _ in }) {
    for _ in 0..<steps {
      let index = random.below(replicas.count)
      switch random.below(10) {
      case 0...4: commit(at: index)
      case 5...7: receive(at: index, count: 1 + random.below(4))
      case 8: publishAcknowledgement(of: index)
      default: readAcknowledgements(at: index)
      }
      afterwards(&self, index)
    }
  }

  mutating func commit(at index: Int) {
    let steps = steps(at: replicas[index])
    let (delta, meaning) = replicas[index].commit(steps)
    deltas.append(delta)
    reference.append(meaning)
  }

  /// Applies up to `count` deltas that can be applied, chosen at random.
  mutating func receive(at index: Int, count: Int) {
    for _ in 0..<count {
      guard let delta = deltas.filter(replicas[index].canApply).randomElement(using: &random)
      else { return }
      replicas[index].apply(delta)
    }
  }

  mutating func deliverEverything() {
    for index in replicas.indices { receive(at: index, count: .max) }
  }

  mutating func publishAcknowledgement(of index: Int) {
    published[replicas[index].device, default: []].append(replicas[index].acknowledgement)
  }

  /// Reads some of the newer acknowledgements, never older ones than before.
  mutating func readAcknowledgements(at index: Int) {
    for (device, words) in published.sorted(by: { $0.key < $1.key }) {
      guard let word = words.randomElement(using: &random) else { continue }
      let known = replicas[index].acknowledgements[device]
      if known == nil || word.seen.covers(known?.seen ?? word.seen) {
        replicas[index].acknowledgements[device] = word
      }
    }
  }

  /// A new device that gets everything in some causal order.
  func replay() -> Replica {
    var replica = Replica(99)
    var random = random
    while let delta = deltas.filter(replica.canApply).randomElement(using: &random) {
      replica.apply(delta)
    }
    return replica
  }

  private mutating func steps(at replica: Replica) -> [ReferenceDelta.Step] {
    let count = random.below(4) == 0 ? 2 : 1
    return Self.records.shuffled(using: &random).prefix(count).flatMap { record in
      intents(replica.state(record)).map { ReferenceDelta.Step(record, $0) }
    }
  }

  private mutating func intents(_ state: RecordState) -> [ReferenceIntent] {
    guard state.exists else { return [.insert] + sets(atLeast: 0) }
    switch random.below(8) {
    case 0: return [.delete]
    case 1: return [.delete, .insert] + sets(atLeast: 0)
    default: return sets(atLeast: 1)
    }
  }

  private mutating func sets(atLeast least: Int) -> [ReferenceIntent] {
    let count = least + random.below(Self.fields.count + 1 - least)
    return Self.fields.shuffled(using: &random).prefix(count).map { field in
      let rule: Rule = random.below(4) > 0 ? .sum : Rule.allCases[random.below(5)]
      return .set(field: field, value(), rule)
    }
  }

  private mutating func value() -> FieldValue? {
    switch random.below(20) {
    case 0, 1: nil
    case 2: .string("x")
    case 3: .bool(true)
    case 4: .double(.nan)
    case 5: .int(.max)
    case 6...8: .double(Double(random.below(10)) / 10)
    default: .int(Int64(random.below(7)) - 3)
    }
  }
}

/// Everything that an app could see of a record, under every rule.
struct Sight: Equatable {
  var exists: Bool
  var values: [String: FieldValue] = [:]

  init(_ state: RecordState) {
    exists = state.exists
    for (field, rule) in Sight.questions {
      values["\(field) \(rule)"] = state.visible(field, rule: rule)
    }
  }

  init(_ view: ReferenceView) {
    exists = view.exists
    for (field, rule) in Sight.questions {
      values["\(field) \(rule)"] = view.visible(field, rule: rule)
    }
  }

  private static let questions = Simulation.fields.flatMap { field in
    Rule.allCases.map { (field, $0) }
  }
}
