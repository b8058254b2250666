import Cairn
import Workload

/// An account with many datastores, on one device.
private struct Shelf {
  let manager: DatastoreManager

  init(_ directory: String, _ folder: SharedFolder) throws {
    var options = Options()
    options.durability = .none
    let account = Account(user: "benchmark", folder: folder.location)
    manager = try DatastoreManager(root: directory, account: account, options: options)
  }

  /// A new datastore with one record, published.
  func create(_ number: Int) async throws -> Datastore {
    let datastore = try manager.openOrCreateDatastore("store-\(number)")
    _ = try datastore.table("records").insert(["seq": .int(Int64(number))])
    _ = try datastore.sync()
    _ = try await datastore.exchange()
    return datastore
  }
}

extension Bench {
  /// Up to 1,000 datastores in one account: their list, opening one, memory, and what a new device
  /// pays to hear of them.
  func manyDatastores() async throws {
    let folder = SharedFolder()
    let place = (Files.memory ?? directory) + "/cairn-datastores"
    Files.removeTree(place)
    defer { Files.removeTree(place) }
    Files.makeDirectory(place)
    let shelf = try Shelf(place + "/a", folder)
    var open: [Datastore] = []
    let base = Meter.memory
    var start = Meter.now()
    var begun = 0
    for number in 0..<1_000 {
      open.append(try await shelf.create(number))
      guard [1, 10, 100, 1_000].contains(open.count) else { continue }
      let count = Double(open.count)
      report.point("create_ms", at: count, (Meter.now() - start) * 1e3 / (count - Double(begun)))
      report.point("memory_kB", at: count, (Meter.memory - base) / 1e3 / count)
      try await measure(shelf, &open, folder, newRoot: place + "/new-\(open.count)")
      begun = open.count
      start = Meter.now()
    }
    try shelf.manager.shutDown()
  }

  private func measure(
    _ shelf: Shelf, _ open: inout [Datastore], _ folder: SharedFolder, newRoot: String
  ) async throws {
    let count = Double(open.count)
    while try await !shelf.manager.refresh().isIdle {}
    var times: [Double] = []
    for _ in 0..<20 {
      let start = Meter.now()
      let report = try await shelf.manager.refresh()
      times.append(Meter.now() - start)
      if !report.isIdle { self.report.fail("the list does not come to rest") }
    }
    let before = folder.count
    _ = try await shelf.manager.refresh()
    report.point("refresh_us", at: count, times.quantile(0.5) * 1e6)
    report.point("refresh_requests", at: count, Double((folder.count - before).requests))
    times = try (0..<5).map { _ in
      try Meter.seconds {
        if try shelf.manager.listDatastores().count != open.count { report.fail("a wrong list") }
      }
    }
    report.point("list_ms", at: count, times.quantile(0.5) * 1e3)
    times = []
    for _ in 0..<10 {
      guard let last = open.popLast() else { return }
      try last.close()
      let start = Meter.now()
      open.append(try shelf.manager.openDatastore(last.id))
      times.append(Meter.now() - start)
    }
    report.point("open_us", at: count, times.quantile(0.5) * 1e6)
    try await measureNewDevice(newRoot, open.count, folder)
  }

  private func measureNewDevice(
    _ root: String, _ count: Int, _ folder: SharedFolder
  ) async throws {
    // In a folder of its own, so that it is no part of what is measured later.
    let copy = folder.copy()
    let device = try Shelf(root, copy)
    let start = Meter.now()
    _ = try await device.manager.refresh()
    if try device.manager.listDatastores().count != count { report.fail("a wrong list") }
    report.point("join_ms", at: Double(count), (Meter.now() - start) * 1e3)
    report.point("join_requests", at: Double(count), Double(copy.count.requests))
    report.point("join_kB", at: Double(count), Double(copy.count.read + copy.count.written) / 1e3)
    try device.manager.shutDown()
  }
}
