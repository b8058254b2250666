import CairnDisk
import CairnMerge
import CairnStore
import TestSupport

/// What two other devices have to say: written once, delivered in every run.
enum PeerPacks {
  /// Packs by two devices, each after the one before of the same device; the second device has
  /// seen the first one's first.
  static let packs: [[UInt8]] = made?.packs ?? []

  /// A snapshot of another device, and the hash of what it shows.
  static let snapshot: (bytes: [UInt8], content: UInt64)? = made?.snapshot

  private static let made = make()

  private struct Made {
    var packs: [[UInt8]]
    var snapshot: (bytes: [UInt8], content: UInt64)?
  }

  private static func make() -> Made? {
    do {
      let first = try Peer(71)
      let second = try Peer(72)
      var packs: [[UInt8]] = []
      try first.insert("p", [("a", .string("from another device")), ("n", .int(1))])
      packs.append(try first.pack(after: 0))
      _ = try second.store.sync(packs: packs)
      try second.store.update(table: "t", id: RecordName("p"), [("n", .int(5))])
      try second.insert("r1", [("b", .int(9))])
      packs.append(try second.pack(after: 0))
      try first.store.update(table: "t", id: RecordName("p"), [("n", .int(2))])
      try first.insert("r2", [("b", .int(4)), ("bytes", .bytes(SeededRandom(1).bytes(700)))])
      packs.append(try first.pack(after: 1))
      try second.store.delete(table: "t", id: RecordName("r1"))
      try second.insert("r0", [("l", .list([.int(1), .string("two")]))])
      packs.append(try second.pack(after: 1))
      _ = try first.store.sync(packs: packs)
      _ = try first.store.compact()
      let content = try ContentHash(first.store).value
      let bytes = first.store.snapshotFile().flatMap { first.disk.bytes($0.path) }
      return Made(packs: packs, snapshot: bytes.map { ($0, content) })
    } catch { return nil }
  }

  private struct Peer {
    let disk = MemoryDisk()
    let store: Store

    init(_ seed: UInt64) throws {
      var options = StoreOptions()
      options.compactsAutomatically = false
      store = try Store.open(
        "/peer", datastore: StoreScenario.datastore, isLinked: true, options: options,
        machine: Machine(disk: disk, clock: ManualClock(500), random: SeededRandom(seed)))
    }

    func insert(_ id: String, _ fields: [(field: String, value: FieldValue?)]) throws {
      try store.insert(table: "t", id: RecordName(id), fields)
    }

    /// Commits, and packs what is new.
    func pack(after sequence: UInt64) throws -> [UInt8] {
      try store.sync()
      let last = store.vector[store.device]
      return try store.ownPack(after: sequence, through: last, limit: 1 << 30)?.pack ?? []
    }
  }
}
