import CairnDisk
import CairnMerge
import CairnStore
import TestSupport

/// Delivers what was published in one order after the other, and compares every byte of what
/// comes of it.
struct OrderSearch {
  private(set) var ledger: Ledger
  private let seed: UInt64
  private(set) var orders = 0

  init(_ ledger: Ledger, seed: UInt64) {
    self.ledger = ledger
    self.seed = seed
  }

  /// What happens on the way, besides.
  private enum Way: Int, CaseIterable {
    case oneByOne, inGroups, withCompactions, withReopenings, allAtOnce
  }

  /// All orders of a case.
  mutating func permute(_ number: UInt64, packs: Int, devices: Int) throws {
    let one = try OrderCase(seed: seed &* 7919 &+ number, packs: packs, devices: devices)
    let first = try result(of: one, Array(0..<packs), .oneByOne, number)
    var order = Array(0..<packs)
    var count = 0
    repeat {
      let way = Way.allCases[count % Way.allCases.count]
      try demand(one, order, way, number, first)
      count += 1
    } while OrderSearch.advance(&order)
    ledger.count("permuted cases")
    ledger.count("permutations", count)
    try repeatSome(one, packs, number, first)
  }

  /// Each pack twice, at every two places.
  private mutating func repeatSome(
    _ one: OrderCase, _ packs: Int, _ number: UInt64, _ first: [UInt8]
  ) throws {
    let random = SeededRandom(number)
    for twice in 0..<packs {
      for _ in 0..<(packs <= 4 ? 24 : 12) {
        var random = random
        var order = Array(0..<packs).shuffled(using: &random)
        order.insert(twice, at: random.below(order.count + 1))
        if random.coin() { order.insert(random.below(packs), at: random.below(order.count + 1)) }
        try demand(one, order, Way.allCases[random.below(Way.allCases.count)], number, first)
        ledger.count("orders with duplicates")
      }
    }
  }

  /// Random orders of more than can be permuted.
  mutating func shuffle(_ number: UInt64, packs: Int, devices: Int, times: Int) throws {
    let one = try OrderCase(seed: seed &* 7919 &+ number, packs: packs, devices: devices)
    let first = try result(of: one, Array(0..<packs), .oneByOne, number)
    var random = SeededRandom(number)
    for _ in 0..<times {
      var order = Array(0..<packs).shuffled(using: &random)
      for _ in 0..<random.below(3) {
        order.insert(random.below(packs), at: random.below(order.count + 1))
      }
      try demand(one, order, Way.allCases[random.below(Way.allCases.count)], number, first)
      ledger.count("random orders")
    }
  }

  private mutating func demand(
    _ one: OrderCase, _ order: [Int], _ way: Way, _ number: UInt64, _ first: [UInt8]
  ) throws {
    orders += 1
    ledger.took("\(way)")
    guard try result(of: one, order, way, number) == first else {
      throw TortureFailure(
        "seed \(seed), case \(number) with \(one.packs.count) packs: order \(order), \(way), gives "
          + "another snapshot than 0..<\(one.packs.count) one by one")
    }
  }

  /// The snapshot of a device that has heard of all packs in this order.
  private func result(
    of one: OrderCase, _ order: [Int], _ way: Way, _ number: UInt64
  ) throws -> [UInt8] {
    let disk = MemoryDisk()
    var store = try OrderCase.blank(disk, seed: number)
    var waiting: [OrderCase.Pack] = []
    let random = SeededRandom(number &+ UInt64(order[0]))
    for (step, index) in order.enumerated() {
      waiting.append(one.packs[index])
      switch way {
      case .oneByOne, .withCompactions, .withReopenings: break
      case .inGroups: if step % 2 == 0 { continue }
      case .allAtOnce: continue
      }
      try take(&waiting, store)
      if way == .withCompactions, random.coin() { _ = try store.compact() }
      if way == .withReopenings, random.coin() {
        try store.close()
        store = try OrderCase.blank(disk, seed: number &+ UInt64(step))
      }
    }
    try take(&waiting, store)
    guard waiting.isEmpty else { throw TortureFailure("\(waiting.count) packs can't be applied") }
    _ = try store.compact()
    let bytes = store.snapshotFile().flatMap { disk.bytes($0.path) } ?? []
    try store.close()
    return bytes
  }

  /// As an exchange does it: again and again, as long as something can be applied.
  private func take(_ waiting: inout [OrderCase.Pack], _ store: Store) throws {
    var hasProgress = true
    while hasProgress, !waiting.isEmpty {
      let vector = store.vector
      waiting.removeAll { vector[$0.device] >= $0.last }
      if waiting.isEmpty { return }
      let outcome = try store.sync(packs: waiting.map(\.bytes))
      guard outcome.failures.isEmpty else {
        throw TortureFailure("a whole pack is refused: \(outcome.failures)")
      }
      hasProgress = outcome.appliedCount > 0
    }
    let vector = store.vector
    waiting.removeAll { vector[$0.device] >= $0.last }
  }

  /// The next permutation in the order of a dictionary; false after the last.
  static func advance(_ order: inout [Int]) -> Bool {
    guard var left = order.indices.dropLast().last(where: { order[$0] < order[$0 + 1] }) else {
      return false
    }
    if let right = order.indices.last(where: { order[$0] > order[left] }) {
      order.swapAt(left, right)
    }
    left += 1
    order[left...].reverse()
    return true
  }
}
