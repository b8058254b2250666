import Cairn
import CairnDisk
import TestSupport
import Testing

/// What a doctor says of devices whose clocks were wrong: what helps, and no more than is so.
@Suite struct DoctorClockTests {
  private let bench: DamageWorkbench
  private let clock = ManualClock(1_800_000_000_000)
  private let today: Int64 = 1_800_000_000_000
  private let day: Int64 = 86_400_000

  init() throws { bench = try DamageWorkbench() }

  private var machine: Machine {
    let real = Machine.real
    return Machine(disk: real.disk, clock: clock, random: real.random)
  }

  private var account: Account { Account(user: "ann", folder: .directory(bench.bench.folder)) }

  private func manager(_ device: String) -> DatastoreManager {
    let folder = bench.bench.folder
    return DatastoreManager(
      root: bench.bench.root(device), account: account, folder: { DirectoryFolder(folder) },
      options: Options(), machine: machine)
  }

  /// A device commits something, publishes it and takes in what others have. Returns its id.
  @discardableResult
  private func work(_ device: String, _ change: (Datastore) throws -> Void) async throws -> String {
    let datastore = try manager(device).openOrCreateDatastore("notes")
    try await datastore.exchange()
    try datastore.sync()
    try change(datastore)
    try datastore.sync()
    for _ in 0..<2 {
      try await datastore.exchange()
      try datastore.sync()
    }
    let id = datastore.device
    try datastore.close()
    return id
  }

  private func found(_ device: String) async -> [Finding] {
    await Doctor(
      root: bench.bench.root(device), account: account,
      folder: DirectoryFolder(bench.bench.folder), machine: machine
    ).examine().findings.filter { $0.check == "devices" }
  }

  /// Its deltas stay ahead, each by a millisecond more, and no clock that is set changes that.
  @Test func `a device whose clock was ahead once gets a new id, and is quiet then`() async throws {
    try await work("a") { try $0.add("a") }
    clock.set(today + 400 * day)
    let fast = try await work("fast") { try $0.add("early") }
    clock.set(today)
    try await work("fast") { try $0.add("right") }
    for device in ["a", "fast"] {
      let all = await found(device)
      #expect(all.map(\.severity) == [.warning], "\(all)")
      let message = try #require(all.first).message
      #expect(message.contains("is 400 days in the future"), "\(message)")
      #expect(!message.contains("until then"), "\(message)")
      #expect(message.contains("though the clock be right"), "\(message)")
      #expect(message.contains("uncacheDatastore"), "\(message)")
      #expect(message.contains(fast), "\(message)")
    }
    try await work("a") { _ in }
    try manager("fast").uncacheDatastore("notes")
    let new = try await work("fast") { _ in }
    #expect(new != fast)
    try await work("fast") { try $0.add("anew") }
    try await work("a") { _ in }
    try await work("a") { try $0.retireDevice(fast) }
    for device in ["fast", "a"] { try await work(device) { _ in } }
    for device in ["a", "fast"] {
      let all = await found(device)
      #expect(!all.contains { $0.message.contains("future") }, "\(all)")
    }
    try await work("a") { datastore in
      let ids = try datastore.ids()
      #expect(ids == ["a", "early", "right", "anew"])
    }
  }

  /// At 1970: it is there, and has just been heard of.
  @Test func `a device that has lost its date is not gone`() async throws {
    try await work("a") { try $0.add("a") }
    clock.set(0)
    let empty = try await work("empty") { try $0.add("empty") }
    clock.set(today)
    try await work("a") { _ in }
    var all = await found("a")
    #expect(all.map(\.severity) == [.warning], "\(all)")
    let warning = try #require(all.first)
    #expect(warning.message.hasPrefix("the clock of device \(empty)"), "\(warning)")
    #expect(warning.message.contains("was years behind"), "\(warning)")
    #expect(warning.command == nil)

    // Nor where its word is waited for.
    try await work("a") { try $0.askToForget() }
    all = await found("a")
    let note = try #require(all.first { $0.message.contains("has not said yet") }, "\(all)")
    #expect(note.message.contains("device \(empty)") && !note.message.contains("days old"))
    #expect(all.allSatisfy { $0.command == nil }, "\(all)")
  }

  /// Then that is what is wrong, and nobody else is to be told.
  @Test func `by an own clock without a date nobody else's is judged`() async throws {
    clock.set(0)
    try await work("a") { try $0.add("a") }
    try await work("b") { try $0.add("b") }
    #expect(await found("a").isEmpty)
    clock.set(today)
    #expect(await found("a").map(\.severity) == [.warning])
  }
}
