import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// The power fails at each step of a repair: what is left is the damaged copy or the whole one, and
/// the damaged files are never lost.
@Suite struct RepairCrashTests {
  private func manager(_ disk: MemoryDisk, seed: UInt64, at time: Int64 = 5) -> DatastoreManager {
    var options = Options()
    options.compactsAutomatically = false
    options.tuning.segmentBytes = 900
    return DatastoreManager(
      root: "/r", account: nil, folder: nil, options: options,
      machine: Machine(disk: disk, clock: ManualClock(time), random: SeededRandom(seed)))
  }

  /// A closed datastore with a snapshot and a log of several segments.
  private func sample() throws -> MemoryDisk {
    let disk = MemoryDisk()
    let manager = manager(disk, seed: 1)
    let datastore = try manager.openOrCreateDatastore("notes")
    for number in 0..<24 {
      try datastore.table("t").insert(
        ["n": .int(Int64(number)), "text": .string("some text of number \(number)")],
        id: RecordID("r\(number)"))
      try datastore.sync()
      if number == 9 { _ = try datastore.compact() }
    }
    try datastore.close()
    try manager.shutDown()
    return disk.crash(keep: .everything)
  }

  private func content(_ disk: MemoryDisk, seed: UInt64) throws -> [String: [String: Value]] {
    let manager = manager(disk, seed: seed)
    let datastore = try manager.openDatastore("notes")
    var result: [String: [String: Value]] = [:]
    for record in try datastore.table("t").query() {
      result[record.id.description] = try record.fields
    }
    try datastore.close()
    try manager.shutDown()
    return result
  }

  /// Damages one file, and returns which.
  private func damage(_ disk: MemoryDisk, _ suffix: String) throws -> [UInt8] {
    let path = try #require(disk.paths().first { $0.hasSuffix(suffix) })
    var bytes = try #require(disk.bytes(path))
    for place in 150..<190 { bytes[place] ^= 0x5A }
    try disk.setBytes(path, bytes)
    return bytes
  }

  @Test(arguments: [".snap", ".seg"])
  func `a power cut at any step loses neither the damaged files nor what was saved`(
    suffix: String
  ) async throws {
    let base = try sample()
    let bad = try damage(base, suffix)
    let plain = base.snapshot()
    let report = try await manager(plain, seed: 2).repairDatastore("notes")
    #expect(report.wasNeeded)
    let wanted = try content(plain, seed: 3)
    #expect(wanted.count >= 10)
    var unfinished = 0
    for step in 1...plain.operations {
      for model in CrashModel.all(seeds: UInt64(step)..<(UInt64(step) + 2)) {
        let disk = base.snapshot()
        disk.powerOff(before: step)
        // Whatever it says when there is no power any more.
        _ = try? await manager(disk, seed: 4).repairDatastore("notes")
        let left = disk.crash(keep: model)
        let again = manager(left, seed: 5)
        let second = try await again.repairDatastore("notes")
        if second.wasNeeded { unfinished += 1 }
        try again.shutDown()
        let reasons = try isReasoned(left)
        let isKept = left.paths().contains { left.bytes($0) == bad }
        let shown = try content(left, seed: 6)
        guard isKept, reasons, shown == wanted else {
          Issue.record(
            "step \(step), \(model): \(shown.count) records, kept \(isKept), reason \(reasons)")
          return
        }
      }
    }
    #expect(unfinished > 0)
  }

  /// A month later the original is still there, and says why: without that it would go by itself.
  private func isReasoned(_ disk: MemoryDisk) throws -> Bool {
    let month: Int64 = 31 * 24 * 3600 * 1000
    let manager = manager(disk, seed: 7, at: month)
    manager.trash.purge()
    let copies = try manager.trashedDatastores()
    try manager.shutDown()
    return copies.count == 1 && copies.allSatisfy { $0.reason?.contains("was repaired") == true }
  }

  @Test func `a disk that refuses a step leaves nothing half done behind`() async throws {
    let base = try sample()
    _ = try damage(base, ".snap")
    let plain = base.snapshot()
    let start = plain.operations
    _ = try await manager(plain, seed: 2).repairDatastore("notes")
    let count = plain.operations - start
    let wanted = try content(plain, seed: 3)
    var (undone, decided) = (0, 0)
    for step in 1...count {
      let disk = base.snapshot()
      disk.failAt(operation: disk.operations + step, reason: .noSpace)
      let manager = manager(disk, seed: 4)
      do { _ = try await manager.repairDatastore("notes") } catch {
        let names = try disk.list("/r").map(\.name)
        let isDecided = names.contains(FileName.journal)
        let isStaged = names.contains { FileName.stagingToken($0) != nil }
        #expect(isStaged == isDecided, "step \(step): \(names)")
        if isDecided { decided += 1 } else { undone += 1 }
      }
      try manager.shutDown()
      let again = self.manager(disk, seed: 5)
      _ = try await again.repairDatastore("notes")
      try again.shutDown()
      #expect(try content(disk, seed: 6) == wanted, "step \(step)")
    }
    #expect(undone > 0 && decided > 0)
  }

  // MARK: a disk that fills up

  /// A damaged datastore beside a whole one.
  private func pair() throws -> MemoryDisk {
    let disk = try sample()
    let manager = manager(disk, seed: 8)
    let other = try manager.openOrCreateDatastore("other")
    try other.table("t").insert(["n": 1], id: "r")
    try other.sync()
    try other.close()
    try manager.shutDown()
    let left = disk.crash(keep: .everything)
    let path = try #require(left.paths().first { $0.contains("/p-notes/snap/") })
    var bytes = try #require(left.bytes(path))
    for place in 150..<190 { bytes[place] ^= 0x5A }
    try left.setBytes(path, bytes)
    return left
  }

  private func checkOther(_ manager: DatastoreManager) throws {
    let other = try manager.openDatastore("other")
    #expect(try other.table("t").record("r")?.fields == ["n": 1])
    try other.close()
  }

  @Test(arguments: [false, true])
  func `a disk that is full once all is decided does not end a repair nor shut the root`(
    isInterrupted: Bool
  ) async throws {
    let disk = try pair()
    if isInterrupted {
      disk.intercept { step in
        if step.verb == "rename", step.path == "/r/p-notes" { disk.powerOff(before: step.number) }
        return nil
      }
      let manager = manager(disk, seed: 2)
      await #expect(throws: CairnError.self) { try await manager.repairDatastore("notes") }
      try manager.shutDown()
      disk.heal()
      #expect(disk.bytes("/r/MIGRATION") != nil)
    }
    disk.intercept { step in
      step.verb == "write" && disk.bytes("/r/MIGRATION") != nil ? .noSpace : nil
    }
    if !isInterrupted {
      let manager = manager(disk, seed: 2)
      let report = try await manager.repairDatastore("notes")
      #expect(report.original?.hasPrefix("/r/trash/") == true)
      try manager.shutDown()
    }
    for seed: UInt64 in 3..<6 {
      let manager = manager(disk, seed: seed)
      try checkOther(manager)
      let copies = try manager.trashedDatastores()
      #expect(copies.map(\.id) == ["notes"])
      #expect(copies.allSatisfy { $0.reason?.contains("was repaired") == true })
      #expect(try disk.list("/r/trash").count == 1)
      try manager.shutDown()
    }
    disk.heal()
    #expect(try content(disk, seed: 6).count >= 10)
  }
}
