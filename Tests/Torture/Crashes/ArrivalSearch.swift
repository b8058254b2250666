import Cairn
import CairnDisk
import CairnLog
import Synchronization
import TestSupport

/// Files of a folder that become visible one after the other, in every order, to a device that
/// exchanges after each.
struct ArrivalSearch {
  private(set) var ledger: Ledger
  private let seed: UInt64

  init(_ ledger: Ledger, seed: UInt64) {
    self.ledger = ledger
    self.seed = seed
  }

  /// A folder that shows of another one only what has arrived.
  private struct LateFolder: Folder {
    let base: DirectoryFolder
    let arrived: Arrived

    final class Arrived: Sendable {
      private let names = Lock<Set<String>>([])
      func add(_ name: String) { names.withLock { _ = $0.insert(name) } }
      func has(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
    }

    private func isVisible(_ name: String) -> Bool {
      let last = WriteOrder.last(name)
      return arrived.has(last)
        || FileName.published(last) == nil && FileName.headDevice(last) == nil
    }

    func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
      try await base.list(directory).filter { isVisible($0.name) }
    }

    func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
      isVisible(path) ? try await base.read(path, limit: limit) : nil
    }

    func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
      arrived.add(WriteOrder.last(path))
      return try await base.write(path, bytes)
    }

    func remove(_ path: String) async throws(CairnError) { try await base.remove(path) }
  }

  mutating func run(cases: Int) async throws {
    for number in 0..<UInt64(cases) {
      let place = Place(seed: seed &* 101 &+ number, variant: number)
      try await publish(place)
      let files = place.folder.paths().map(WriteOrder.last).filter {
        FileName.published($0) != nil || FileName.headDevice($0) != nil
      }
      var order = Array(files.indices)
      var first: UInt64?
      var count = 0
      repeat {
        // All orders of up to five files, and one in so many of more.
        defer { count += 1 }
        if files.count > 5, count % 7 != Int(number % 7) { continue }
        let content = try await arrive(place, order.map { files[$0] }, number)
        if let first, first != content {
          throw TortureFailure("seed \(seed), case \(number): order \(order) shows something else")
        }
        first = content
        ledger.count("orders of arrival")
      } while OrderSearch.advance(&order)
    }
  }

  /// Two devices that publish two or three times each, at the same time.
  private func publish(_ place: Place) async throws {
    let random = SeededRandom(seed &+ place.variant)
    var devices: [Datastore] = []
    for index in 0..<2 {
      var other = Place(seed: seed &* 17 &+ place.variant &* 5 &+ UInt64(index))
      other.folder = place.folder
      other.clock = place.clock
      devices.append(try ArrivalSearch.manager(other, nil).openOrCreateDatastore("n"))
    }
    for step in 0..<4 {
      place.clock.advance(by: 1)
      let device = devices[step % 2]
      let table = try device.table("t")
      for _ in 0..<3 {
        let id = RecordID("r\(random.below(3))")
        let record = try table.getOrInsert(id).record
        try record.set("f\(random.below(3))", .int(Int64(random.below(100))))
        try record.list("l").append(.int(Int64(random.below(100))))
      }
      try device.sync()
      try await device.exchange()
      if random.coin() { try device.sync() }
    }
    for device in devices { try device.manager.shutDown() }
  }

  private static func manager(_ place: Place, _ arrived: LateFolder.Arrived?) -> DatastoreManager {
    let machine = place.folderMachine
    var options = Options()
    options.durability = .none
    options.compactsAutomatically = false
    return DatastoreManager(
      root: "/a", account: Account(user: "ann", folder: .directory("/folder")),
      folder: {
        let base = DirectoryFolder("/folder", machine: machine)
        return arrived.map { LateFolder(base: base, arrived: $0) } ?? base
      }, options: options, machine: place.machine)
  }

  private func arrive(_ place: Place, _ files: [String], _ number: UInt64) async throws -> UInt64 {
    var own = Place(seed: number)
    own.folder = place.folder.snapshot()
    let arrived = LateFolder.Arrived()
    let datastore = try ArrivalSearch.manager(own, arrived).openOrCreateDatastore("n")
    for file in files {
      arrived.add(file)
      let report = try await datastore.exchange()
      guard report.problems.isEmpty else { throw TortureFailure("problems: \(report.problems)") }
      try datastore.sync()
    }
    let report = try await datastore.exchange()
    try datastore.sync()
    guard report.waiting.isEmpty else { throw TortureFailure("waits for \(report.waiting)") }
    let content = try ContentHash(datastore).value
    try datastore.manager.shutDown()
    return content
  }
}
