import CairnDisk
import CairnLog
import TestSupport
import Testing

/// How the small files are replaced, step by step.
struct DurableFileTests {
  private static let path = "/d/CURRENT"
  private static let old: [UInt8] = [1, 2, 3]
  private static let new: [UInt8] = [4, 5]

  private func start() throws -> MemoryDisk {
    let disk = MemoryDisk()
    try disk.setBytes(Self.path, Self.old)
    return disk
  }

  private func replace(_ disk: MemoryDisk, _ isDurable: Bool, _ isSecret: Bool) throws {
    try DurableFile.replace(
      directory: "/d", name: FileName.current, bytes: Self.new,
      machine: Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1)),
      durable: isDurable, isSecret: isSecret)
  }

  @Test(arguments: [false, true], [false, true])
  func `a step that fails leaves the old file or the new one, and no other`(
    isDurable: Bool, isSecret: Bool
  ) throws {
    let good = try start()
    try replace(good, isDurable, isSecret)
    #expect(good.bytes(Self.path) == Self.new && good.openFiles == 0)
    #expect(good.isDurable(Self.path) == isDurable)
    // Whoever does not want it to be durable waits for no disk.
    let steps = good.operations
    #expect(steps == (isDurable ? 5 : 3))
    for step in 1...steps {
      let disk = try start()
      disk.failAt(operation: step, reason: .noSpace)
      let error = #expect(throws: LogError.self, "step \(step)") {
        try replace(disk, isDurable, isSecret)
      }
      guard case .disk(let found) = error?.reason else {
        Issue.record("step \(step): \(String(describing: error))")
        continue
      }
      #expect(found.reason == .noSpace, "step \(step)")
      // The last one makes the new name durable.
      let isNew = isDurable && step == steps
      #expect(disk.bytes(Self.path) == (isNew ? Self.new : Self.old), "step \(step)")
      #expect(disk.paths() == [Self.path], "step \(step)")
      #expect(disk.openFiles == 0, "step \(step)")
    }
  }
}
