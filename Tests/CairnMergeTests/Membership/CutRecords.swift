import CairnMerge
import TestSupport

/// A world of devices with real records: each has them twice, once pruned whenever it may be, and
/// once never.
struct CutRecords {
  private(set) var world: CutWorld
  private var random: SeededRandom
  private(set) var pruned: [Replica]
  private(set) var whole: [Replica]
  private(set) var reference: [ReferenceDelta] = []
  private var wire: [WireDelta] = []

  init(_ world: CutWorld, seed: UInt64) {
    self.world = world
    random = SeededRandom(seed)
    pruned = world.devices.map { Replica($0.id.rawValue) }
    whole = pruned
  }

  /// Lets things happen, and then everything that is still going to. False: pruning was seen.
  mutating func run(steps: Int) throws -> Bool {
    for _ in 0..<steps {
      let first = random.below(3) == 0 ? world.free : world.inevitable(.real)
      guard let action = first.randomElement(using: &random) else { continue }
      if try !perform(action) { return false }
    }
    var left = 300
    while let action = world.inevitable(.real).first, left > 0 {
      if try !perform(action) { return false }
      left -= 1
    }
    return true
  }

  private mutating func perform(_ action: CutWorld.Action) throws -> Bool {
    let before = world
    try world.perform(action)
    for index in before.devices.count..<max(before.devices.count, world.devices.count) {
      let new = Replica(world.devices[index].id.rawValue)
      pruned.append(new)
      whole.append(new)
    }
    for index in world.devices.indices { follow(index) }
    var holds = true
    for index in world.devices.indices {
      if random.coin() { pruned[index].prune(world.book(index).fence) }
      holds = holds && isUnseen(index)
    }
    return holds
  }

  /// Applies what the device has applied, and writes what it has written.
  private mutating func follow(_ index: Int) {
    for number in world.deltas.indices {
      let delta = world.deltas[number]
      guard world.devices[index].seen.contains(delta.dot),
        !whole[index].horizon.seen.contains(delta.dot)
      else { continue }
      if number < wire.count {
        whole[index].apply(wire[number])
        pruned[index].apply(wire[number])
        continue
      }
      var steps: [ReferenceDelta.Step] = []
      if case .write = delta.kind { steps = content(whole[index]) }
      let (made, meaning) = whole[index].commit(steps)
      let (again, _) = pruned[index].commit(steps)
      // What is written follows from what is seen; births that were forgotten make no difference.
      wire.append(random.coin() ? made : again)
      reference.append(meaning)
    }
  }

  private mutating func content(_ replica: Replica) -> [ReferenceDelta.Step] {
    let record = random.coin() ? "r" : "s"
    var intents: [ReferenceIntent] = []
    if !replica.state(record).exists {
      intents = [.insert]
    } else if random.below(3) == 0 {
      intents = random.coin() ? [.delete] : [.delete, .insert]
    }
    if intents.last != .delete {
      let value: FieldValue? = random.below(5) == 0 ? nil : .int(Int64(random.below(7)))
      let field = Simulation.fields[random.below(2)]
      intents.append(.set(field: field, value, field == "n" ? .sum : .remote))
    }
    return intents.map { ReferenceDelta.Step(record, $0) }
  }

  /// The pruned device shows the same, and so it does when the whole one prunes at last.
  private func isUnseen(_ index: Int) -> Bool {
    var late = whole[index]
    late.prune(pruned[index].horizon.fence)
    var again = pruned[index]
    again.prune(pruned[index].horizon.fence)
    return late.records == again.records
      && Simulation.records.allSatisfy {
        Sight(pruned[index].state($0)) == Sight(whole[index].state($0))
      }
  }

  /// Devices that have seen the same agree with each other, byte for byte, and with the reference.
  var doAgree: Bool {
    let history = ReferenceHistory(reference)
    for index in pruned.indices {
      let seen = pruned[index].horizon.seen
      for record in Simulation.records
      where Sight(pruned[index].state(record)) != Sight(history.view(record, seen: seen)) {
        return false
      }
      for other in pruned.indices where pruned[other].horizon.seen == seen {
        var (a, b) = (pruned[index], pruned[other])
        a.prune(world.book(index).fence)
        b.prune(world.book(index).fence)
        if a.records != b.records { return false }
      }
    }
    return true
  }

  var hasFence: Bool { pruned.contains { !$0.horizon.fence.isEmpty } }
}
