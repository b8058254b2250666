import CairnDisk
import CairnMerge
import CairnStore
import TestSupport

/// A few devices that work at the same time, and what each of them has published: packs whose
/// deltas build upon one another, contradict one another, or have nothing to do with each other.
struct OrderCase {
  /// A run of one device's deltas.
  struct Pack {
    var device: DeviceID
    var last: UInt64
    var bytes: [UInt8]
  }

  private(set) var packs: [Pack] = []
  private let random: SeededRandom
  private let devices: [Device]

  private struct Device {
    let store: Store
    let clock: ManualClock
  }

  /// So many packs of so many devices.
  init(seed: UInt64, packs count: Int, devices number: Int) throws {
    random = SeededRandom(seed)
    var made: [Device] = []
    for index in 0..<number {
      let clock = ManualClock(1000 + Int64(random.below(5)))
      let store = try OrderCase.blank(MemoryDisk(clock: clock), seed: seed &* 31 &+ UInt64(index))
      made.append(Device(store: store, clock: clock))
    }
    devices = made
    while packs.count < count { try step() }
  }

  static func blank(_ disk: MemoryDisk, seed: UInt64) throws -> Store {
    var options = StoreOptions()
    options.compactsAutomatically = false
    options.durability = .none
    return try Store.open(
      "/store", datastore: StoreScenario.datastore, isLinked: true, options: options,
      machine: Machine(disk: disk, clock: ManualClock(2000), random: SeededRandom(seed)))
  }

  /// One device writes some deltas and publishes them, having heard of some of the others or not.
  private mutating func step() throws {
    let device = devices[random.below(devices.count)]
    let store = device.store
    device.clock.advance(by: Int64(random.below(3)))
    if random.coin(), !packs.isEmpty {
      let heard = packs.filter { _ in random.coin() }.map(\.bytes)
      if !heard.isEmpty { _ = try store.sync(packs: heard) }
    }
    let before = packs.last { $0.device == store.device }?.last ?? 0
    for _ in 0...random.below(3) {
      for _ in 0...random.below(4) { try edit(store) }
      try store.sync()
    }
    let last = store.vector[store.device]
    guard last > before else { return }
    try store.flush()
    if let pack = try store.ownPack(after: before, through: last, limit: 1 << 30) {
      packs.append(Pack(device: store.device, last: last, bytes: pack.pack))
    }
  }

  private func edit(_ store: Store) throws {
    let table = random.below(4) == 0 ? "u" : "t"
    let id = RecordName("r\(random.below(4))")
    if random.below(12) == 0 {
      return try store.setRule(
        [.sum, .max, .min, .local, .remote][random.below(5)], table: table, field: field)
    }
    guard try store.exists(table: table, id: id) else {
      return try store.insert(table: table, id: id, [(field, value)])
    }
    switch random.below(8) {
    case 0: try store.delete(table: table, id: id)
    case 1:
      try store.delete(table: table, id: id)
      try store.insert(table: table, id: id, [(field, value)])
    case 2, 3: try editList(store, table, id)
    default: try store.update(table: table, id: id, [(field, random.below(5) == 0 ? nil : value)])
    }
  }

  private func editList(_ store: Store, _ table: String, _ id: RecordName) throws {
    let count = try store.listCount(table: table, id: id, field: "l") ?? 0
    let operation: ListOperation =
      switch count == 0 ? 0 : random.below(4) {
      case 0: .insert(value, at: random.below(count + 1))
      case 1: .remove(at: random.below(count))
      case 2: .move(from: random.below(count), to: random.below(count))
      default: .replace(at: random.below(count), value)
      }
    try store.edit(table: table, id: id, field: "l", operation)
  }

  private var field: String { ["a", "b", "n"][random.below(3)] }

  private var value: FieldValue {
    switch random.below(5) {
    case 0: .string("text \(random.below(20))")
    case 1: .double(Double(random.below(40)) / 4)
    case 2: .bytes(random.bytes(random.below(20)))
    default: .int(Int64(random.below(50)))
    }
  }
}
