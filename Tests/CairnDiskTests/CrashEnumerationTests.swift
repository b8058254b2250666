import CairnDisk
import TestSupport
import Testing

/// The simulated disk on the oldest problem of all: replace a file so that after a power cut at any
/// step there is the old one or the new one, and the new one once the replacing has returned. The
/// careful way passes; each way that leaves out a step must be caught.
struct CrashEnumerationTests {
  enum Omission: CaseIterable, Sendable {
    case nothing, fileSync, directorySync, order
  }

  private func replace(_ disk: MemoryDisk, _ omission: Omission, _ text: String) throws {
    let file = try disk.open("/d/new", .create)
    defer { file.close() }
    try file.put(String(text.prefix(600)))
    try file.put(String(text.dropFirst(600)), at: 600)
    if omission == .order { try disk.rename("/d/new", to: "/d/current") }
    if omission != .fileSync { try file.sync() }
    if omission != .order { try disk.rename("/d/new", to: "/d/current") }
    if omission != .directorySync { try disk.syncDirectory("/d") }
  }

  /// How many of the power cuts leave something wrong.
  private func failures(_ omission: Omission) throws -> (wrong: Int, states: Int) {
    let old = String(repeating: "o", count: 1300)
    let new = String(repeating: "n", count: 1300)
    func start() throws -> MemoryDisk {
      let disk = MemoryDisk()
      try disk.setBytes("/d/current", Array(old.utf8))
      return disk
    }
    let counted = try start()
    try replace(counted, omission, new)
    var wrong = 0
    var states: Set<Int> = []
    for step in 1...(counted.operations + 1) {
      let disk = try start()
      disk.powerOff(before: step)
      let isDone = (try? replace(disk, omission, new)) != nil
      #expect(isDone == (step == counted.operations + 1))
      for model in CrashModel.all(seeds: 0..<25) {
        let crashed = disk.crash(keep: model)
        states.insert(crashed.fingerprint())
        let text = crashed.bytes("/d/current").map { String(decoding: $0, as: UTF8.self) }
        if text != new && (isDone || text != old) { wrong += 1 }
      }
    }
    return (wrong, states.count)
  }

  @Test func `the careful way is never wrong`() throws {
    let result = try failures(.nothing)
    #expect(result.wrong == 0)
    // Looking at one state over and over would prove nothing.
    #expect(result.states > 10)
  }

  @Test(arguments: [Omission.fileSync, .directorySync, .order])
  func `a careless way is caught`(omission: Omission) throws {
    #expect(try failures(omission).wrong > 0)
  }
}
