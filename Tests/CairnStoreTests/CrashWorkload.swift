import CairnDisk
import CairnMerge
import CairnStore
import TestSupport

/// A day in the life of a store, in steps that are the same in every run: commits, rotation,
/// deltas of another device, compaction, closing and opening again.
final class CrashWorkload {
  enum Step {
    case commit(Int)
    case deliver(Int)
    case compact
    case reopen
  }

  static let steps: [Step] = [
    .commit(0), .commit(1), .deliver(0), .commit(2), .compact, .commit(3), .commit(4), .reopen,
    .commit(5), .deliver(1), .commit(6), .compact, .commit(7), .reopen, .commit(8),
  ]

  /// What another device has to say: written once, delivered in every run.
  static let packs: [[UInt8]] = {
    do {
      let peer = try StoreDevice(77, time: 500)
      try peer.store.insert("p", ["a": "from another device", "n": 1])
      try peer.store.sync()
      let first = try peer.store.pack()
      try peer.store.set("p", ["n": 2])
      try peer.store.insert("r1", ["b": 9])
      try peer.store.sync()
      return [first, try peer.store.pack(after: 1)]
    } catch { return [] }
  }()

  let disk: MemoryDisk
  private let isLinked: Bool
  private let configure: (inout StoreOptions) -> Void
  private let random = SeededRandom(5)
  private let clock = ManualClock(1000)
  private(set) var store: Store?
  /// What the store shows after each commit that was begun, the empty store first.
  private(set) var states = [StoreContent()]
  /// The newest of them that was acknowledged.
  private(set) var acknowledged = 0

  init(
    _ disk: MemoryDisk, isLinked: Bool = true,
    configure: @escaping (inout StoreOptions) -> Void = { _ in }
  ) {
    self.disk = disk
    self.isLinked = isLinked
    self.configure = configure
  }

  func open(_ disk: MemoryDisk) throws -> Store {
    var options = StoreOptions()
    options.compactsAutomatically = false
    options.segmentBytes = 700
    configure(&options)
    return try StoreDevice.open(disk, clock, random, isLinked, options)
  }

  func open() throws { store = try open(disk) }

  /// Everything, up to the first error.
  func run() throws {
    try open()
    for step in Self.steps { try run(step) }
    try store?.close()
  }

  func run(_ step: Step) throws {
    guard let store else { return }
    switch step {
    case .commit(let number):
      try change(store, number)
      try commit(store)
    case .deliver(let number):
      // Local stores hear of nobody; they write something instead.
      guard isLinked else { return }
      let expected = try StoreContent(peek(store, number))
      states.append(expected)
      _ = try store.sync(packs: [Self.packs[number]])
      acknowledged = states.count - 1
    case .compact: _ = try store.compact()
    case .reopen:
      try store.close()
      try open()
    }
  }

  /// The changes of a commit, which go on from whatever is there.
  func change(_ store: Store, _ number: Int) throws {
    let id = "r\(number % 3)"
    if try store.get(id) == nil {
      try store.insert(id, ["a": .int(Int64(number)), "s": .string("text \(number)")])
    } else if number == 6 {
      try store.delete(id)
    } else {
      try store.set(id, ["a": .int(Int64(number)), "s": nil, "x\(number)": 0.5])
    }
    let bulk = FieldValue.bytes(SeededRandom(UInt64(number)).bytes(number * 40))
    try store.insert("new\(number)", ["bulk": bulk])
  }

  func commit(_ store: Store) throws {
    states.append(try StoreContent(store))
    try store.sync()
    acknowledged = states.count - 1
  }

  /// A store in memory that has what this one has, and the pack.
  private func peek(_ store: Store, _ number: Int) throws -> Store {
    let copy = try open(disk.snapshot())
    _ = try copy.sync(packs: [Self.packs[number]])
    return copy
  }
}
