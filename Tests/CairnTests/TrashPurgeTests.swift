import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// When what was put away in a root goes for good.
@Suite struct TrashPurgeTests {
  private let clock = ManualClock()
  private let disk: MemoryDisk
  private static let day: Int64 = 86_400_000

  init() { disk = MemoryDisk(clock: clock) }

  private var trash: Trash {
    Trash(root: "/r", machine: Machine(disk: disk, clock: clock, random: SeededRandom(1)))
  }

  /// They are all there is of the datastores that move.
  @Test func `while a move is under way nothing goes, and without one what is a week old`() throws {
    let staged = "/r/" + FileName.staging(7, "p-x") + "/CURRENT"
    let half = "/r/" + FileName.temporary(3) + "/CURRENT"
    let journal = "/r/" + FileName.journal
    try disk.setBytes(staged, [1])
    try disk.setBytes(half, [2])
    try disk.setBytes(journal, [3])
    clock.advance(by: 100 * Self.day)
    trash.purge()
    #expect(Set(disk.paths()) == [staged, half, journal])
    try disk.remove(journal)
    let fresh = "/r/" + FileName.staging(8, "p-y") + "/CURRENT"
    try disk.setBytes(fresh, [4])
    clock.advance(by: 7 * Self.day)
    trash.purge()
    #expect(disk.paths() == [fresh], "another process may be at it")
    clock.advance(by: 1)
    trash.purge()
    #expect(disk.paths() == [])
  }

  /// After a sleep, or by a clock that was put on, it looks as old as what a crash has left.
  @Test(arguments: ["p-x", "scratch"])
  func `what a repair is putting together stays, however old it is`(part: String) throws {
    let staged = ["p-x", "scratch"].map { "/r/" + FileName.staging(7, $0) }
    for directory in staged { try disk.setBytes(directory + "/CURRENT", [1]) }
    let other = "/r/" + FileName.staging(8, "p-y") + "/CURRENT"
    try disk.setBytes(other, [2])
    let file = "/r/" + FileName.staging(7, part) + "/" + FileName.lock
    let lock = try disk.lock(file)
    clock.advance(by: 100 * Self.day)
    trash.purge()
    #expect(Set(disk.paths()) == Set(staged.map { $0 + "/CURRENT" } + [file]))
    lock.unlock()
    trash.purge()
    #expect(disk.paths() == [])
  }

  @Test func `while somebody moves datastores here nothing that is put together goes`() throws {
    let staged = "/r/" + FileName.staging(7, "p-x") + "/CURRENT"
    let moving = "/r/" + FileName.migrationLock
    let half = "/r/" + FileName.temporary(3) + "/CURRENT"
    for path in [staged, half] { try disk.setBytes(path, [1]) }
    let lock = try disk.lock(moving)
    clock.advance(by: 8 * Self.day)
    trash.purge()
    #expect(Set(disk.paths()) == [staged, moving])
    // Whoever has moved some clears up as well.
    trash.purge(isLocked: true)
    #expect(disk.paths() == [moving])
    try disk.setBytes(staged, [1])
    clock.advance(by: 8 * Self.day)
    lock.unlock()
    trash.purge()
    #expect(disk.paths() == [moving])
  }

  @Test func `what others have deleted goes after thirty days, what has a reason stays`() throws {
    for name in ["p-x", "p-y"] { try disk.setBytes("/r/" + name + "/CURRENT", [1]) }
    let gone = try trash.keep("p-x") + "/CURRENT"
    let kept = try trash.keep("p-y", reason: "it was repaired") + "/CURRENT"
    // None of ours.
    let others = ["/r/trash/-5/CURRENT", "/r/trash/notes/CURRENT"]
    for path in others { try disk.setBytes(path, [2]) }
    clock.advance(by: 30 * Self.day)
    trash.purge()
    #expect(disk.bytes(gone) == [1])
    clock.advance(by: 1)
    trash.purge()
    #expect(disk.bytes(gone) == nil)
    clock.advance(by: 1000 * Self.day)
    trash.purge()
    #expect(disk.bytes(kept) == [1])
    #expect(others.allSatisfy { disk.bytes($0) == [2] })
  }
}
