import Cairn
import CairnDisk
import TestSupport
import Testing

/// What a doctor has to judge by what is so just now: whose clock is wrong, and whether somebody
/// may still be writing a file.
@Suite struct DoctorNowTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  /// `days`: how far the clocks of the other devices are ahead.
  @Test(arguments: [[3, 5], [3, 5, 0]])
  func `where all others are ahead the own clock is behind, and else theirs are named`(
    days: [Int]
  ) async throws {
    let clock = ManualClock(1_800_000_000_000)
    let now = clock.now()
    let real = Machine.real
    let machine = Machine(disk: real.disk, clock: clock, random: real.random)
    let place = bench.bench.folder
    let account = Account(user: "ann", folder: .directory(place))
    for (number, lead) in (days + [0]).enumerated() {
      clock.set(now + Int64(lead) * 86_400_000)
      let datastore = try DatastoreManager(
        root: bench.bench.root("d\(number)"), account: account,
        folder: { DirectoryFolder(place) }, options: Options(), machine: machine
      ).openOrCreateDatastore("notes")
      try datastore.add("r\(number)")
      try await datastore.exchange()
      try datastore.close()
    }
    let doctor = Doctor(
      root: bench.bench.root("d\(days.count)"), account: account, folder: DirectoryFolder(place),
      machine: machine)
    let found = await doctor.examine().findings.filter { $0.check == "devices" }
    #expect(found.allSatisfy { $0.severity == .warning }, "\(found)")
    let messages = found.map(\.message)
    guard days.contains(0) else {
      #expect(
        messages == [
          "all other devices have deltas that are more than an hour in the future: this device's "
            + "clock is behind. Set it"
        ])
      return
    }
    #expect(messages.count == 2, "\(messages)")
    for lead in [3, 5] {
      let words = "is \(lead) days in the future: set the clock there"
      #expect(messages.filter { $0.contains(words) }.count == 1, "\(messages)")
    }
  }

  @Test(arguments: ["", "/log", "/snap"])
  func `a file that is half written is told once nobody has the datastore open`(
    directory: String
  ) async throws {
    var datastore = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(datastore, 20)
    try datastore.close()
    datastore = try bench.local().openDatastore("notes")
    try datastore.add("more")
    let path = bench.directory(bench.localRoot) + directory + "/0123456789abcdef.tmp"
    try bench.bench.write(path, [1])
    let open = await Doctor(root: bench.localRoot).examine().findings
    #expect(open.map(\.check) == ["lock"], "\(open)")
    try datastore.close()
    // Whatever has become of it meanwhile.
    try bench.bench.write(path, [1])
    let closed = await Doctor(root: bench.localRoot).examine().findings
    #expect(closed.map(\.check) == ["files"], "\(closed)")
    #expect(closed.map(\.severity) == [.note] && closed.first?.file == path)
    #expect(
      closed.map(\.message)
        == ["half written by something that was interrupted; it may be removed"])
  }
}
