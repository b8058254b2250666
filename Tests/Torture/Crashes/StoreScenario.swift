import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// Work with one store on one disk.
struct StoreScenario: Scenario {
  /// One step; numbers make the changes of one step differ from those of another.
  enum Step: Sendable {
    /// A few changes of a few records, one commit.
    case commit
    /// So many records of about so many bytes each, one commit.
    case load(Int, Int)
    case lists
    case rules
    /// Changes that are taken back.
    case rollBack
    case flush
    /// What another device has to say, by index.
    case deliver([Int])
    /// The own deltas so far count as published.
    case confirm
    case compact
    /// A compaction while commits go on, one before every so many of its steps.
    case compactDuring(Int)
    /// What a store that has nothing yet gets from another device.
    case adopt
    case reopen
    /// The process is killed, and the next one opens what is there.
    case kill
  }

  static let directory = "/store"
  static let datastore: UInt128 = 0xCA17

  let name: String
  var isLinked = true
  var options: StoreOptions
  let steps: [Step]

  init(
    _ name: String, isLinked: Bool = true, _ steps: [Step],
    configure: (inout StoreOptions) -> Void = { _ in }
  ) {
    self.name = name
    self.isLinked = isLinked
    self.steps = steps
    options = StoreOptions()
    options.compactsAutomatically = false
    configure(&options)
  }

  var hasComings: Bool { false }
  var isDurable: Bool { options.durability == .full }

  func open(_ place: Place) throws -> Store {
    try Store.open(
      StoreScenario.directory, datastore: StoreScenario.datastore, isLinked: isLinked,
      options: options, machine: place.machine)
  }

  func begin(_ place: Place, _ recorder: Recorder) throws -> any Life {
    StoreLife(self, place, recorder)
  }

  func look(_ place: Place) throws -> Look {
    let store = try open(place)
    let look = Look(
      content: try ContentHash(store).value, hasMended: !store.recovery.isEmpty)
    try store.close()
    return look
  }

  func resume(_ place: Place, _ recorder: Recorder) throws {
    let store = try open(place)
    recorder.begin(try ContentHash(store).value)
    recorder.acknowledge()
    try store.insert(
      table: "after", id: RecordName("r\(place.random.next())"), [("a", .int(1))])
    recorder.begin(try ContentHash(store).value)
    try store.sync()
    if options.durability == .full { recorder.acknowledge() }
    try store.close()
    if options.durability != .none { recorder.acknowledge() }
    recorder.endStep()
  }

  func goOn(_ place: Place) async throws {
    let store = try open(place)
    let sequence = store.vector[store.device]
    try store.insert(
      table: "after", id: RecordName("r\(place.random.next())"), [("a", .int(1))])
    let committed = try store.sync().committed
    guard committed?.sequence == sequence + 1 else {
      throw TortureFailure("own deltas have a gap behind \(sequence)")
    }
    let content = try ContentHash(store).value
    try store.flush()
    let left = Place(
      home: place.home.crash(keep: .nothingUnsynced), folder: place.folder, clock: place.clock,
      seed: place.random.next())
    guard try look(left).content == content else {
      throw TortureFailure("a commit after the recovery does not survive a power cut")
    }
    _ = try store.compact()
    guard try ContentHash(store).value == content else {
      throw TortureFailure("a compaction after the recovery changes what shows")
    }
    try store.close()
    try Verification.check(place, StoreScenario.directory)
    try Strays.check(place, stores: [StoreScenario.directory])
    guard try look(place).content == content else {
      throw TortureFailure("a compaction after the recovery loses something")
    }
  }
}
