import Cairn
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import Synchronization
import TestSupport

/// The operations of a seed on two devices, done in one way. Each device changes records of its
/// own, and both add to counters that they share: so it makes no difference when they meet.
final class VariantRun {
  private struct Place {
    var disk: MemoryDisk
    var manager: DatastoreManager
    var datastore: Datastore
  }

  /// Files that were made where snapshots are.
  private final class Made: Sendable {
    private let sum = Lock(0)
    var count: Int { sum.withLock { $0 } }
    func add() { sum.withLock { $0 += 1 } }
  }

  private let variant: VariantOptions
  private let made = Made()
  private let random: SeededRandom
  private let clock = ManualClock()
  private let folder: MemoryFolder
  private var places: [Place] = []
  private var scratch = 0
  private(set) var effects = VariantEffects()

  init(_ variant: VariantOptions, seed: UInt64) throws {
    self.variant = variant
    random = SeededRandom(seed)
    folder = MemoryFolder(isShared: !variant.isLate)
    for _ in 0..<(variant.isLocal ? 1 : 2) { try addPlace() }
    for place in places { try place.datastore.table("shared").setRule(.sum, field: "n") }
  }

  private func addPlace() throws {
    folder.add()
    let disk = MemoryDisk(clock: clock)
    disk.intercept { [made] operation in
      if operation.verb == "create", operation.path.contains("/snap/") { made.add() }
      return nil
    }
    let manager = manager(places.count, disk)
    places.append(Place(disk: disk, manager: manager, datastore: try open(manager)))
  }

  private func manager(_ number: Int, _ disk: MemoryDisk) -> DatastoreManager {
    let folder = folder
    let machine = Machine(
      disk: disk, clock: clock, random: SeededRandom(UInt64(number) + 11))
    if variant.isLocal {
      return DatastoreManager(
        root: "/app", account: nil, folder: nil, options: variant.options, machine: machine)
    }
    return DatastoreManager(
      root: "/app", account: Account(user: "ann", folder: .directory("/nowhere")),
      folder: { MemoryFolderClient(folder: folder, device: number) }, options: variant.options,
      machine: machine)
  }

  private func open(_ manager: DatastoreManager) throws -> Datastore {
    let datastore = try manager.openOrCreateDatastore("notes")
    if variant.hasIndexes {
      for field in ["a", "b"] { try datastore.core.addIndex(IndexName(table: "t", field: field)) }
    }
    return datastore
  }

  // MARK: running

  /// What is there in the end, as one number.
  func digest(operations: Int) async throws -> UInt64 {
    for number in 1...operations {
      clock.advance(by: 1000)
      let device = random.below(2)
      try change(device, places[device % places.count].datastore)
      effects.operations += 1
      try await keep(number)
    }
    for place in places { try commit(place) }
    try await meet(rounds: 3)
    noteEnd()
    if variant.asksNewcomer {
      try addPlace()
      try await meet(rounds: 2)
    }
    let contents = try places.map { try SimulatedContent($0.datastore.core) }
    for place in places { try place.datastore.close() }
    let last = contents[contents.count - 1]
    for content in contents where content != last {
      throw TortureFailure("devices differ: \(content.differences(from: last))")
    }
    return last.digest
  }

  private func commit(_ place: Place) throws {
    let result = try place.datastore.sync()
    effects.takenIn += result.incorporated
    guard result.committed else { return }
    effects.commits += 1
    // Looking costs more than committing.
    if effects.commits % 10 != 0 { return }
    let segments = place.disk.paths().filter {
      FileName.segmentNumber(MemoryFolder.View.split($0).name) != nil
    }
    if segments.contains(where: { !place.disk.isDurable($0) }) { effects.commitsNotDurable += 1 }
  }

  private func noteEnd() {
    let disk = places[0].disk
    effects.segments = disk.paths().count {
      FileName.segmentNumber(MemoryFolder.View.split($0).name) != nil
    }
    effects.hasSnapshot = places[0].datastore.core.snapshotFile() != nil
    effects.bytesRead = disk.bytesRead
    effects.snapshotFiles = made.count
    effects.folderFiles = folder.views.first?.files.count ?? 0
  }

  private func keep(_ number: Int) async throws {
    func isTime(_ every: Int) -> Bool { every > 0 && number % every == 0 }
    if isTime(variant.scratchEvery) { try scratchWork() }
    if isTime(variant.commitEvery) {
      for place in places { try commit(place) }
    }
    if isTime(variant.exchangeEvery) { try await meet(rounds: 1) }
    if isTime(variant.compactEvery) {
      for place in places {
        try place.datastore.compact()
        effects.compactions += 1
      }
    }
    if isTime(variant.reopenEvery) {
      for index in places.indices {
        try commit(places[index])
        try places[index].datastore.close()
        effects.reopenings += 1
        places[index].datastore = try open(places[index].manager)
      }
    }
    if isTime(variant.crashEvery) {
      for index in places.indices {
        try commit(places[index])
        effects.cuts += 1
        if !places[index].disk.moment().pending.isEmpty { effects.cutsThatTook += 1 }
        let left = places[index].datastore
        places[index].disk = places[index].disk.crash(keep: .torn(UInt64(number)))
        // What an app that has no power any more holds would stay in this process for ever.
        try? left.close()
        places[index].manager = manager(index, places[index].disk)
        places[index].datastore = try open(places[index].manager)
      }
    }
    if number % 50 == 0 { try compareQueries(places[0].datastore.core) }
  }

  /// What a query finds is what one finds who looks at every record.
  private func compareQueries(_ store: Store) throws {
    for field in ["a", "b"] {
      let found = Set(try store.query(table: "t", [(field, .int(1))]).map(\.text))
      let wanted = try store.query(table: "t", []).filter { id in
        try store.fields(table: "t", id: id)?.contains {
          $0.0 == field && $0.1.matches(.int(1))
        } ?? false
      }
      guard found == Set(wanted.map(\.text)) else {
        throw TortureFailure(
          "\(field) = 1 finds \(found.sorted()), not \(wanted.map(\.text).sorted())")
      }
      effects.queries += found.isEmpty ? 0 : 1
    }
  }

  private func meet(rounds: Int) async throws {
    if variant.isLocal { return }
    for round in 0..<rounds {
      for (index, place) in places.enumerated() {
        if rounds > 1 {
          folder.settle()
        } else {
          folder.deliver(to: index, SeededRandom(UInt64(round &+ folder.requests)))
          if !folder.views[folder.number(of: index)].waiting.isEmpty { effects.lateDeliveries += 1 }
        }
        try commit(place)
        let report = try await place.datastore.exchange()
        effects.exchanges += 1
        effects.mergedFiles += report.mergedFiles
        if index >= 2, report.fetchedSnapshot { effects.newcomerTookSnapshot = true }
        try commit(place)
      }
    }
  }

  /// Much that comes and goes.
  private func scratchWork() throws {
    scratch += 1
    for place in places {
      let table = try place.datastore.table("scratch")
      for number in 0..<200 {
        try table.insert(["x": .int(Int64(number))], id: RecordID("s\(scratch)-\(number)"))
      }
      try commit(place)
      effects.scratchRecords += 200
      for number in 0..<200 { try table[RecordID("s\(scratch)-\(number)")].delete() }
      try commit(place)
    }
  }

  // MARK: operations

  /// What it does follows from what this device has done before, and from nothing else.
  private func change(_ device: Int, _ datastore: Datastore) throws {
    let kind = random.below(20)
    let number = random.below(60)
    let values: [Value] = [
      .int(Int64(random.below(5))), .double(Double(random.below(9)) / 4),
      .string("text \(random.below(40))"), .bytes(random.bytes(random.below(20))),
      .bool(random.coin()), .date(Timestamp(millisecondsSince1970: Int64(random.below(99)))),
    ]
    let field = ["a", "b", "c"][random.below(3)]
    let value = values[random.below(values.count)]
    let place = random.below(1 << 20)
    if kind < 2 { return try count(datastore, number % 5, Int64(random.below(19)) - 9) }
    let table = try datastore.table(number % 3 == 0 ? "u" : "t")
    let id = RecordID("d\(device)-\(number)")
    guard let record = try table.record(id) else {
      try table.insert(fields: [field: value], id: id)
      return
    }
    switch kind {
    case 2: try record.delete()
    case 3:
      try record.delete()
      try table.insert(fields: [field: value], id: id)
    case 4: try record.remove(field)
    case 5...9: try edit(try record.list("l"), value, place)
    default: try record.set(field, value)
    }
  }

  private func count(_ datastore: Datastore, _ number: Int, _ amount: Int64) throws {
    let table = try datastore.table("shared")
    let id = RecordID("c\(number)")
    guard let record = try table.record(id) else {
      try table.insert(["n": .int(amount)], id: id)
      return
    }
    try record.set("n", .int((try record.int("n") ?? 0) + amount))
  }

  private func edit(_ list: RecordList, _ value: Value, _ place: Int) throws {
    let count = list.count
    switch count == 0 ? 0 : place % 7 {
    case 0, 1, 2: try list.insert(value, at: place % (count + 1))
    case 3: try list.replace(at: place % count, with: value)
    case 4: try list.move(from: place % count, to: (place / 7) % count)
    default: try list.remove(at: place % count)
    }
  }
}
