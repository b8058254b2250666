import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Own deltas that lie outside of the log until they are published: damage to them is told, and a
/// repair takes those that count.
@Suite struct RepairOutboxTests {
  private let bench = IdentityBench()
  private let place = "/root/p-notes/"

  /// A device that has taken another name, and has published nothing under it: closed, with the one
  /// file of its outbox; and the clone that has kept the old name.
  private func renamed() async throws -> (a: DatastoreManager, b: Datastore, outbox: String) {
    let a = try bench.open("a")
    try a.add("common")
    try await a.exchange()
    bench.clone("a", as: "b")
    let b = try bench.open("b")
    bench.clock.advance(by: 10)
    try b.add("of-b")
    try await b.exchange()
    bench.clock.advance(by: 10)
    try a.add("of-a")
    try await a.pull()
    #expect(a.device != b.device)
    try a.close()
    let files = bench.disk("a").paths().filter { $0.hasPrefix(place + "outbox-") }
    try #require(files.count == 1)
    return (a.manager, b, files[0])
  }

  /// What the doctor says of this device's deltas and files.
  private func findings() async -> [Finding] {
    func machine(_ disk: MemoryDisk) -> Machine {
      Machine(disk: disk, clock: bench.clock, random: SeededRandom(9))
    }
    let doctor = Doctor(
      root: "/root", account: Account(user: "ann", folder: .directory("/folder")),
      folder: DirectoryFolder("/folder", machine: machine(bench.folder)),
      machine: machine(bench.disk("a")))
    return await doctor.examine().findings.filter { $0.check == PublishedCheck.name }
  }

  @Test func `a damaged file of them is told, and a repair keeps all records`() async throws {
    let (a, b, outbox) = try await renamed()
    #expect(await findings() == [])
    #expect(try await !a.repairDatastore("notes").wasNeeded)
    try bench.disk("a").corrupt(outbox, 120, xor: 4)
    let found = await findings()
    #expect(found.map(\.severity) == [.error])
    #expect(found.first?.file == outbox && found.first?.offset == 112)
    #expect(found.first?.command?.contains("repair notes") == true)
    let report = try await a.repairDatastore("notes")
    #expect(report.findings.map(\.file) == [outbox])
    #expect(report.losses.map(\.file) == [outbox] && report.reinserted == 1)
    let repaired = try a.openDatastore("notes")
    #expect(try repaired.ids() == ["common", "of-a", "of-b"])
    // Which nobody could publish before.
    try await repaired.exchange()
    try await b.pull()
    #expect(try b.ids() == ["common", "of-a", "of-b"])
    try repaired.close()
    #expect(await findings() == [])
  }

  /// Then nothing but these deltas tells the name under which they were to be published.
  @Test func `without CURRENT a repair does not wait for what was never published`() async throws {
    let (a, b, _) = try await renamed()
    try bench.disk("a").remove(place + "CURRENT")
    #expect(try await a.repairDatastore("notes").wasNeeded)
    let repaired = try a.openDatastore("notes")
    #expect(try repaired.ids() == ["common", "of-a", "of-b"])
    try await repaired.exchange()
    try await b.pull()
    #expect(try b.ids() == ["common", "of-a", "of-b"])
    try repaired.close()
  }

  /// What a check of every byte says of the files as they are: looked at where they are real.
  private func problems() throws -> [DatastoreInspector.VerifyReport.Problem] {
    let real = try TemporaryDirectory()
    let disk = PosixDisk()
    // A directory may be empty.
    for name in ["log", "snap"] { try disk.createDirectory(real.path + place + name) }
    for path in bench.disk("a").paths() {
      let bytes = try #require(bench.disk("a").bytes(path))
      let names = path.split(separator: "/")
      try disk.createDirectory(real.path + "/" + names.dropLast().joined(separator: "/"))
      let file = try disk.open(real.path + path, .create)
      try file.write(bytes.span, at: 0)
      file.close()
    }
    let inspector = try DatastoreInspector(root: real.path("root"), id: "notes")
    defer { inspector.close() }
    return try inspector.verify().problems.map { problem in
      var problem = problem
      problem.file = String(problem.file.dropFirst(real.path.count))
      return problem
    }
  }

  @Test func `a check of every byte reads them, too`() async throws {
    let (_, _, outbox) = try await renamed()
    #expect(try problems() == [])
    try bench.disk("a").corrupt(outbox, 120, xor: 4)
    let found = try problems()
    #expect(found.map(\.file) == [outbox] && found.map(\.offset) == [112])
    #expect(found.map(\.isDamage) == [true])
  }

  /// Left there by a crash, they are under another name what the log has.
  @Test func `what lies under another number than CURRENT's is not added once more`() async throws {
    let a = try bench.open("a")
    try a.add("first")
    try a.compact()
    try a.table("sums").setRule(.sum, field: "n")
    try a.table("sums").insert(["n": 100], id: "r")
    try a.sync()
    try await a.exchange()
    let x = try bench.open("x")
    try await x.pull()
    for device in [a, x] {
      bench.clock.advance(by: 10)
      try device.table("sums").record("r")?.set("n", 107)
      try device.sync()
    }
    let last = x.store.vector[x.store.device]
    let own = try #require(try x.store.ownPack(after: 0, through: last, limit: 1 << 30))
    let file = PublishedSegment(
      datastore: a.store.datastore, device: x.store.device.rawValue, first: own.first,
      last: own.last, chainBefore: 0, chainAfter: 0, pack: own.pack
    ).encoded()
    for device in [a, x] { try device.close() }
    let disk = bench.disk("a")
    try disk.setBytes(place + FileName.outbox(1) + "/" + file.name, file.bytes)
    let snapshot = try #require(
      disk.paths().first { $0.hasPrefix(place) && $0.hasSuffix(".snap") })
    try disk.remove(snapshot)
    let report = try await a.manager.repairDatastore("notes")
    #expect(report.losses.map(\.file) == [snapshot])
    let repaired = try a.manager.openDatastore("notes")
    #expect(try repaired.table("sums").record("r")?.int("n") == 107)
    #expect(try repaired.ids() == ["first"])
    try repaired.close()
  }
}
