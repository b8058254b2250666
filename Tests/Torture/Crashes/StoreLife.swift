import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import Synchronization
import TestSupport

/// A store scenario under way.
// Unchecked: steps of the disk are announced on the thread that takes them, which is the only one.
final class StoreLife: Life, @unchecked Sendable {
  private let scenario: StoreScenario
  private var place: Place
  private let recorder: Recorder
  private(set) var store: Store?
  /// Commits inside of a step that are done: they are not done again if the step is.
  private var nested = 0

  init(_ scenario: StoreScenario, _ place: Place, _ recorder: Recorder) {
    self.scenario = scenario
    var place = place
    place.process = ProcessDisk(place.home)
    self.place = place
    self.recorder = recorder
  }

  /// Opening is a step like any other.
  var stepNames: [String] { ["open"] + scenario.steps.map { "\($0)" } }

  func content() throws -> UInt64 { try ContentHash(opened()).value }

  private func opened() throws -> Store {
    if let store { return store }
    let new = try scenario.open(place)
    store = new
    return new
  }

  func close() throws {
    guard let old = store else { return }
    store = nil
    try old.close()
  }

  func perform(_ step: Int) async throws {
    let store = try opened()
    place.clock.advance(by: 1)
    guard step > 0 else { return }
    switch scenario.steps[step - 1] {
    case .commit:
      try change(store, step)
      try commit(store)
    case .load(let count, let bytes):
      try load(store, step, count, bytes)
      try commit(store)
    case .lists:
      try editLists(store, step)
      try commit(store)
    case .rules:
      try store.setRule(.sum, table: "t", field: "n")
      try store.setDefaultRule(step % 2 == 0 ? .max : .min)
      try commit(store)
    case .rollBack:
      try change(store, step)
      try store.rollBack()
    case .flush:
      try store.flush()
      recorder.acknowledge()
    case .deliver(let packs): try deliver(store, packs)
    case .confirm:
      try store.flush()
      store.confirmPublished(through: store.vector[store.device])
    case .compact: _ = try store.compact()
    case .compactDuring(let pace): try compact(store, step, pace)
    case .adopt: try adopt(store)
    case .reopen:
      try close()
      // What was not durable before is so when the store is closed.
      if scenario.options.durability != .none { recorder.acknowledge() }
      _ = try opened()
    case .kill: try kill()
    }
  }

  private func commit(_ store: Store) throws {
    recorder.begin(try content())
    try store.sync()
    if scenario.options.durability == .full { recorder.acknowledge() }
  }

  /// Depends on the step alone, and on what is there.
  private func change(_ store: Store, _ step: Int) throws {
    // Done, if this is another try.
    if try store.exists(table: "t", id: RecordName("new\(step)")) { return }
    let id = RecordName("r\(step % 3)")
    if try !store.exists(table: "t", id: id) {
      try store.insert(
        table: "t", id: id, [("a", .int(Int64(step))), ("s", .string("text \(step)"))])
    } else if step % 5 == 4 {
      try store.delete(table: "t", id: id)
    } else {
      try store.update(
        table: "t", id: id, [("a", .int(Int64(step))), ("s", nil), ("x\(step)", .double(0.5))])
    }
    let bulk = FieldValue.bytes(place.bytes(step, below: 300))
    _ = try store.getOrInsert(table: "t", id: RecordName("new\(step)"), [("bulk", bulk)])
  }

  private func load(_ store: Store, _ step: Int, _ count: Int, _ bytes: Int) throws {
    let random = SeededRandom(UInt64(step) &+ place.variant << 32)
    for number in 0..<count {
      let fields: [(field: String, value: FieldValue?)] = [
        ("n", .int(Int64(number))), ("bytes", .bytes(random.bytes(bytes))),
      ]
      _ = try store.getOrInsert(table: "l", id: RecordName("\(step)-\(number)"), fields)
    }
  }

  private func editLists(_ store: Store, _ step: Int) throws {
    // Likewise.
    if try !store.getOrInsert(table: "t", id: RecordName("list\(step)"), []) { return }
    let id = RecordName("list")
    _ = try store.getOrInsert(table: "t", id: id, [])
    let count = try store.listCount(table: "t", id: id, field: "l") ?? 0
    let text = FieldValue.string("item \(step)")
    try store.edit(table: "t", id: id, field: "l", .append(text))
    try store.edit(table: "t", id: id, field: "l", .insert(.int(Int64(step)), at: 0))
    if count > 2 {
      try store.edit(table: "t", id: id, field: "l", .move(from: 0, to: count - 1))
      try store.edit(table: "t", id: id, field: "l", .remove(at: 1))
      try store.edit(table: "t", id: id, field: "l", .replace(at: 0, text))
    }
  }

  private func deliver(_ store: Store, _ packs: [Int]) throws {
    let bytes = packs.map { PeerPacks.packs[$0 % PeerPacks.packs.count] }
    // What it will show is found on a copy of the disk.
    recorder.pause()
    defer { recorder.resume() }
    let copy = Place(
      home: place.home.snapshot(), folder: place.folder, clock: place.clock, seed: 77)
    let ahead = try scenario.open(copy)
    _ = try ahead.sync(packs: bytes)
    recorder.begin(try ContentHash(ahead).value)
    try ahead.close()
    recorder.resume()
    defer { recorder.pause() }
    _ = try store.sync(packs: bytes)
    if scenario.options.durability == .full { recorder.acknowledge() }
  }

  /// Commits from within the steps of the compaction that hold no lock of the store: the files
  /// that it writes. It is what another thread could do just then.
  ///
  /// After an error another try has other moments than the first one: what it has none for comes
  /// behind it, so that in the end there is as much as without.
  private func compact(_ store: Store, _ step: Int, _ pace: Int) throws {
    let goal = recorder.nestedGoal(of: step)
    let isInside = Lock(false)
    let failure = Lock<(any Error)?>(nil)
    let counter = Lock(0)
    recorder.hook { [self] operation in
      guard operation.path.contains("/" + FileName.snapshots), !isInside.withLock({ $0 }) else {
        return
      }
      let number = counter.withLock { count in
        count += 1
        return count
      }
      guard number % pace == 0, number / pace <= goal ?? .max else { return }
      // None comes before one that has failed.
      guard failure.withLock({ $0 == nil }) else { return }
      isInside.withLock { $0 = true }
      defer { isInside.withLock { $0 = false } }
      do { try commitNested(step * 100 + number / pace) } catch {
        failure.withLock { $0 = error }
      }
    }
    defer { recorder.hook(nil) }
    _ = try store.compact()
    if let error = failure.withLock({ $0 }) { throw error }
    if let goal {
      for number in 0..<goal { try commitNested(step * 100 + number + 1) }
      return
    }
    let count = counter.withLock { $0 } / pace
    guard count > 0 else { throw TortureFailure("nothing was committed during the compaction") }
    recorder.noteNested(count, in: step)
  }

  private func commitNested(_ number: Int) throws {
    guard let store, number > nested else { return }
    try change(store, number)
    try commit(store)
    nested = number
  }

  private func adopt(_ store: Store) throws {
    guard store.isBlank, let snapshot = PeerPacks.snapshot else { return }
    let path = store.temporarySnapshotPath()
    let file = try place.home.open(path, .create)
    try file.write(snapshot.bytes.span, at: 0)
    file.close()
    recorder.begin(snapshot.content)
    try store.adopt(snapshot: path)
    recorder.acknowledge()
  }

  /// The handles of a killed process are gone, and its locks; the disk goes on.
  private func kill() throws {
    place.process?.kill()
    place.process = ProcessDisk(place.home)
    store = nil
    _ = try opened()
  }

  func mend(_ error: any Error) throws {
    guard let store else { return }
    if (error as? StoreError)?.kind == .syncFailed || isPoisoned(store) {
      // It may say once more that it could not make everything durable.
      try? close()
      if scenario.options.durability != .none { recorder.acknowledge() }
      _ = try opened()
    } else {
      try store.rollBack()
    }
  }

  private func isPoisoned(_ store: Store) -> Bool {
    do {
      try store.flush()
      return false
    } catch { return error.kind == .syncFailed }
  }
}
