import Cairn
import CairnDisk
import TestSupport
import Testing

/// What a doctor says of the disk itself: its room, and who may write there.
@Suite struct DoctorDiskTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private func examine(_ change: (inout ProbedDisk) -> Void) async throws -> DoctorReport {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(datastore)
    try datastore.close()
    var disk = ProbedDisk()
    change(&disk)
    var machine = Machine.real
    machine.disk = disk
    return await Doctor(root: bench.localRoot, account: nil, folder: nil, machine: machine)
      .examine()
  }

  @Test(arguments: [0, 1, (16 << 20) - 1] as [UInt64])
  func `a disk that is nearly full is an error`(_ free: UInt64) async throws {
    let report = try await examine { $0.free = free }
    #expect(report.findings.map(\.check) == ["space"])
    let found = try #require(report.findings.first)
    #expect(found.severity == .error && found.file == bench.localRoot)
    #expect(found.message.contains(" \(free) bytes are free"))
  }

  @Test(arguments: [16 << 20, .max, nil] as [UInt64?])
  func `a disk with room, or one that can't tell, is none`(_ free: UInt64?) async throws {
    #expect(try await examine { $0.free = free }.findings == [])
  }

  @Test(arguments: ["", "/p-notes", "/p-notes/log", "/p-notes/snap", "/p-notes/CURRENT"])
  func `what can't be written to is named`(_ name: String) async throws {
    let path = bench.localRoot + name
    let report = try await examine { $0.mayWrite = { $0 != path } }
    #expect(report.findings.map(\.check) == ["permissions"])
    let found = try #require(report.findings.first)
    #expect(found.severity == .error && found.file == path)
    #expect(found.message.contains("can't be written to"))
    #expect(found.datastore == (name.isEmpty ? nil : "notes"))
  }

  @Test(arguments: [false, true])
  func `a datastore that is folded while it is looked at is looked at again`(
    goesOn: Bool
  ) async throws {
    let datastore = try bench.local().openOrCreateDatastore("notes")
    try bench.fill(datastore, compacts: false)
    let (isBegun, isFolded, looks) = (Flag(), Flag(), Shared(0))
    var disk = ProbedDisk()
    disk.willLook = { path in
      if path.hasSuffix("/p-notes/LOCK") {
        isBegun.raise()
        looks.withLock { $0 += 1 }
      }
      // CURRENT was read, and the segments that it names go.
      guard path.hasSuffix("/p-notes/log"), isBegun.isUp, isFolded.raise() else { return }
      do {
        try datastore.compact()
        // Into a segment that the first look does not expect.
        if goesOn { try datastore.add("later") }
      } catch { Issue.record("\(error)") }
    }
    var machine = Machine.real
    machine.disk = disk
    let report = await Doctor(root: bench.localRoot, account: nil, folder: nil, machine: machine)
      .examine()
    #expect(isFolded.isUp && report.findings.map(\.check) == ["lock"], "\(report.findings)")
    #expect(looks.withLock { $0 } == 2)
    try datastore.close()
  }
}
