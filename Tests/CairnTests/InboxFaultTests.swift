import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Fetched files that the disk does not give any more: they are fetched anew, and keep nobody
/// else's waiting.
@Suite struct InboxFaultTests {
  private let bench = IdentityBench(seed: 83)
  /// The file that the disk of `b` does not give, until another one takes its place.
  private let lost = Shared<String?>(nil)

  private func open(_ reason: DiskError.Reason) throws -> Datastore {
    let lost = lost
    let home = bench.disk("b")
    home.intercept { step in
      lost.withLock { path in
        if path == step.target || step.verb == "remove" && path == step.path { path = nil }
      }
      return nil
    }
    let disk = DeafDisk(base: home) { path in lost.withLock { $0 } == path ? reason : nil }
    let machine = Machine(disk: disk, clock: bench.clock, random: bench.random("b"))
    let place = Machine(disk: bench.folder, clock: bench.clock, random: SeededRandom(5))
    return try DatastoreManager(
      root: "/root", account: Account(user: "ann", folder: .directory("/folder")),
      folder: { DirectoryFolder("/folder", machine: place) }, options: bench.options,
      machine: machine
    ).openOrCreateDatastore("notes")
  }

  private func fetched(of device: Datastore) -> [String] {
    bench.disk("b").paths().filter { $0.contains("/inbox/" + device.device) }
  }

  /// From now on the disk of `b` does not give what it has fetched of a device last.
  private func lose(of device: Datastore) throws -> String {
    let path = try #require(fetched(of: device).last)
    lost.withLock { $0 = path }
    return path
  }

  /// Two devices that have published one record each.
  private func publishers() async throws -> (a: Datastore, c: Datastore) {
    let (a, c) = (try bench.open("a"), try bench.open("c"))
    for (name, device) in [("of-a", a), ("of-c", c)] {
      try device.add(name)
      try await device.exchange()
    }
    return (a, c)
  }

  @Test(arguments: [DiskError.Reason.io(errno: 5), .denied])
  func `a fetched file that the disk does not give is fetched anew and the others come in`(
    reason: DiskError.Reason
  ) async throws {
    let (a, _) = try await publishers()
    let b = try open(reason)
    #expect(try await b.exchange().fetchedDeltas == 2)
    let path = try lose(of: a)
    try b.add("mine")
    #expect(try b.ids() == ["mine", "of-c"])
    #expect(bench.disk("b").bytes(path) == nil)
    let report = try await b.exchange()
    #expect(report.fetchedDeltas == 1 && report.publishedDeltas == 1)
    #expect(try b.sync().incorporated == 1)
    #expect(try b.ids() == ["mine", "of-a", "of-c"])
  }

  @Test(arguments: [DiskError.Reason.io(errno: 5), .denied], [false, true])
  func `a process that begins with such a file gets over it`(
    _ reason: DiskError.Reason, _ syncsFirst: Bool
  ) async throws {
    let (a, _) = try await publishers()
    var b = try open(reason)
    try await b.exchange()
    let path = try lose(of: a)
    try b.close()
    b = try open(reason)
    if syncsFirst {
      #expect(try b.sync().incorporated == 1)
      #expect(try b.ids() == ["of-c"])
      #expect(bench.disk("b").bytes(path) == nil)
    }
    #expect(try await b.exchange().fetchedDeltas == 1)
    #expect(try b.sync().incorporated == (syncsFirst ? 1 : 2))
    #expect(try b.ids() == ["of-a", "of-c"])
  }

  @Test func `what is behind such a file waits for it`() async throws {
    let a = try bench.open("a")
    for name in ["one", "two"] {
      try a.add(name)
      try await a.exchange()
    }
    let b = try open(.io(errno: 5))
    #expect(try await b.exchange().fetchedDeltas == 2)
    let first = try #require(fetched(of: a).first)
    lost.withLock { $0 = first }
    #expect(try b.sync().incorporated == 0)
    #expect(try b.ids() == [])
    #expect(bench.disk("b").bytes(first) == nil && fetched(of: a).count == 1)
    try await b.exchange()
    #expect(try b.sync().incorporated == 2)
    #expect(try b.ids() == ["one", "two"])
  }

  /// It says nothing of the file.
  @Test(arguments: [DiskError.Reason.tooManyOpen, .io(errno: 12)])
  func `what this process lacks just now is told and costs no file`(
    reason: DiskError.Reason
  ) async throws {
    let (a, _) = try await publishers()
    let b = try open(reason)
    try await b.exchange()
    let path = try lose(of: a)
    #expect(failure { try b.sync() } != nil)
    #expect(bench.disk("b").bytes(path) != nil)
    lost.withLock { $0 = nil }
    #expect(try b.sync().incorporated == 2)
    #expect(try b.ids() == ["of-a", "of-c"])
  }

  @Test func `deletes in such a file are asked for like any others once it is here again`()
    async throws
  {
    let a = try bench.open("a")
    let ids = (0..<60).map { RecordID("r\($0)") }
    for id in ids { try a.table("t").insert(["n": 1], id: id) }
    try a.sync()
    try await a.exchange()
    let b = try open(.io(errno: 5))
    try await b.pull()
    for id in ids { try a.table("t").record(id)?.delete() }
    try a.sync()
    try await a.exchange()
    #expect(try await b.exchange().fetchedDeltas == 1)
    _ = try lose(of: a)
    #expect(try b.sync().massDelete == nil)
    #expect(try b.ids().count == 60)
    #expect(try await b.exchange().fetchedDeltas == 1)
    #expect(try b.sync().massDelete?.records == 60)
    #expect(try b.ids().count == 60)
    try b.sync(allowingMassDelete: true)
    #expect(try b.ids() == [])
  }
}
