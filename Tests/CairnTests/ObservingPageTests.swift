import Cairn
import CairnDisk
import TestSupport
import Testing

/// The samples of the page about observing: the same lines, compiled and run.
@Suite struct ObservingPageTests {
  private let place: TemporaryDirectory
  private let screen = Screen()
  private let list = List()

  init() throws { place = try TemporaryDirectory() }

  private func open() throws -> Datastore {
    try DatastoreManager(root: place.path("root")).openDefaultDatastore()
  }

  @Test func `the page's loops see what happens, and end`() async throws {
    let datastore = try open()
    let tasks = try datastore.table("tasks")
    try tasks.insert(["title": "first", "done": false, "due": 1], id: "1")
    async let changes: Void = changes(datastore)
    async let results: Void = results(tasks)
    async let statuses: Void = statuses(datastore)
    while await list.records.isEmpty { await Task.yield() }
    while await screen.isUploaded == nil { await Task.yield() }
    let observation = handler(datastore)
    try tasks.insert(["title": "second", "done": false, "due": 0], id: "2")
    try tasks["1"].update(["due": 3, "done": false])
    while await list.records.map(\.id) != ["2", "1"] { await Task.yield() }
    while await screen.told != 2 { await Task.yield() }
    try tasks["2"].set("done", true)
    while await list.records.map(\.id) != ["1"] { await Task.yield() }
    try datastore.sync()
    observation.cancel()
    try datastore.close()
    await changes
    try await results
    await statuses
    #expect(await screen.reloaded.isSuperset(of: ["1", "2"]))
    #expect(await screen.isUploaded == false)
  }

  /// One that ended with the first error would leave all that comes later unseen.
  @Test func `the page's loop over the status outlives a sync that fails`() async throws {
    let bench = CatalogueBench()
    let a = try bench.manager("a").openOrCreateDatastore("n")
    let b = try bench.manager("b").openOrCreateDatastore("n")
    async let statuses: Void = statuses(b)
    while await screen.isUploaded == nil { await Task.yield() }
    bench.disk.intercept { operation in
      operation.verb == "write" && operation.path.hasPrefix("/b/p-n/log/") ? .noSpace : nil
    }
    try a.add("first")
    try await a.exchange()
    try await b.exchange()
    while await screen.errors.isEmpty { await Task.yield() }
    bench.disk.heal()
    try a.add("second")
    try await a.exchange()
    try await b.exchange()
    while try b.ids() != ["first", "second"] { await Task.yield() }
    try b.close()
    await statuses
    try a.close()
    let codes = await screen.errors.map { ($0 as? CairnError)?.code }
    #expect(Set(codes) == [.diskSpace])
  }

  private func changes(_ datastore: Datastore) async {
    // The page's lines.
    for await change in datastore.changes {
      for (table, ids) in change.records {
        await screen.reload(ids, of: table, isMine: change.isLocal)
      }
      for table in change.wholeTables { await screen.reloadAll(of: table) }
    }
    // The end.
  }

  private func results(_ tasks: Table) async throws {
    // The page's lines.
    let open = Query().where("done", .equals(false)).sorted(by: "due").limit(50)
    for try await update in try tasks.live(open) {
      for change in update.changes {
        switch change {
        case .removed(_, let from): await list.remove(at: from)
        case .moved(_, let from, let to): await list.move(from, to)
        case .inserted(let record, let at): await list.insert(record, at)
        case .updated(_, let at): await list.reload(at)
        @unknown default: await list.set(update.records)
        }
      }
    }
    // The end.
  }

  private func statuses(_ datastore: Datastore) async {
    // The page's lines.
    for await status in datastore.statusChanges {
      await screen.show(
        isSaved: !status.outgoing, isUploaded: !status.uploading, problem: status.anyError?.message)
      if status.incoming {
        do { try datastore.sync() } catch { await screen.show(error) }
      }
    }
    // The end.
  }

  private func handler(_ datastore: Datastore) -> Observation {
    // The page's lines.
    let observation = datastore.observe(on: { DispatchQueue.main.async(execute: $0) }) { change in
      MainActor.assumeIsolated {
        screen.needsReload(change.records(in: "tasks"))  // nil: it may be any of them
      }
    }
    // The end.
    return observation
  }

  @Test func `the page shows this very code`() throws {
    let here = try lines("Tests/CairnTests/ObservingPageTests.swift")
    var samples: [String] = []
    for (index, line) in here.enumerated() where line == "    // The page's lines." {
      let end = try #require(here[index...].firstIndex(of: "    // The end."))
      samples += here[(index + 1)..<end].map { String($0.dropFirst(4)) }
    }
    let page = try lines("Sources/Cairn/Cairn.docc/Observing.md")
    var shown: [String] = []
    var isCode = false
    for line in page {
      if line.hasPrefix("```") {
        isCode.toggle()
      } else if isCode {
        shown.append(line)
      }
    }
    #expect(samples == shown && !samples.isEmpty)
  }

  private func lines(_ file: String) throws -> [String] {
    String(decoding: try ProjectFile.bytes(file), as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}

/// The page's queue, without Dispatch.
private enum DispatchQueue {
  struct Main: Sendable {
    func async(execute work: @escaping @Sendable () -> Void) { Task { @MainActor in work() } }
  }

  static let main = Main()
}

/// What an app would show.
@MainActor private final class Screen {
  private(set) var reloaded: Set<RecordID> = []
  private(set) var isUploaded: Bool?
  private(set) var told = 0
  private(set) var errors: [any Error] = []

  nonisolated init() {}

  func reload(_ ids: Set<RecordID>, of _: String, isMine _: Bool) { reloaded.formUnion(ids) }
  func reloadAll(of _: String) {}
  func show(isSaved _: Bool, isUploaded: Bool, problem _: String?) { self.isUploaded = isUploaded }
  func show(_ error: any Error) { errors.append(error) }
  func needsReload(_ ids: Set<RecordID>?) { told += ids?.count ?? 0 }
}

private actor List {
  private(set) var records: [Record] = []

  func remove(at index: Int) { records.remove(at: index) }
  func move(_ from: Int, _ to: Int) { records.insert(records.remove(at: from), at: to) }
  func insert(_ record: Record, _ index: Int) { records.insert(record, at: index) }
  func reload(_: Int) {}
  func set(_ new: [Record]) { records = new }
}
