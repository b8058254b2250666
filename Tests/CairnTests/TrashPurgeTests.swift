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

  /// One that is merged back just now, for example.
  @Test func `a copy that is in use stays, and keeps no other one in the trash`() throws {
    for name in ["p-x", "p-y"] { try disk.setBytes("/r/" + name + "/CURRENT", [1]) }
    let used = try trash.keep("p-x")
    _ = try trash.keep("p-y")
    let file = used + "/" + FileName.lock
    let lock = try disk.lock(file)
    clock.advance(by: 31 * Self.day)
    trash.purge()
    #expect(Set(disk.paths()) == [used + "/CURRENT", file])
    lock.unlock()
    trash.purge()
    #expect(disk.paths() == [])
  }

  @Test func `a copy of which nobody can tell whether it is in use keeps no other one`() throws {
    for name in ["p-x", "p-y"] { try disk.setBytes("/r/" + name + "/CURRENT", [1]) }
    let kept = try trash.keep("p-x")
    _ = try trash.keep("p-y")
    let file = kept + "/" + FileName.lock
    try disk.setBytes(file, [])
    clock.advance(by: 31 * Self.day)
    disk.intercept { $0.verb == "lock" ? .io(errno: 5) : nil }
    trash.purge()
    #expect(Set(disk.paths()) == [kept + "/CURRENT", file])
    disk.heal()
    trash.purge()
    #expect(disk.paths() == [])
  }

  /// All of it or nothing: not what is left of it when files go already.
  @Test func `a copy that is going is not put back any more`() async throws {
    let bench = CatalogueBench()
    let manager = bench.local("l")
    try await manager.with("n") { try $0.add("r") }
    try manager.trash.keep("p-n")
    bench.clock.advance(by: 31 * Self.day)
    let copy = try #require(try manager.trashedDatastores().first)
    let (result, isOver) = (Shared<CairnError.Code?>(nil), Flag())
    bench.disk.intercept { step in
      guard step.verb == "remove", step.path.hasSuffix("/" + FileName.lock), isOver.raise()
      else { return nil }
      _ = result.exchange(code { try manager.restore(copy) })
      return nil
    }
    manager.trash.purge()
    bench.disk.heal()
    #expect(isOver.isUp)
    #expect(result.exchange(nil) == .notFound)
    #expect(bench.disk.paths() == [])
    #expect(bench.disk.heldLocks == 0)
  }

  /// One that another process does, for example.
  @Test(arguments: [false, true])
  func `a purge beside it keeps nothing in the trash that is emptied`(isOne: Bool) async throws {
    let (bench, manager) = try await twoPutAway()
    let copy = try #require(try manager.trashedDatastores().first)
    let isOver = Flag()
    bench.disk.intercept { step in
      guard step.verb == "lock", step.path.hasPrefix(copy.directory), isOver.raise() else {
        return nil
      }
      manager.trash.purge()
      return nil
    }
    #expect(code { try manager.emptyTrash(of: isOne ? copy : nil) } == nil)
    bench.disk.heal()
    #expect(isOver.isUp)
    #expect(try manager.trashedDatastores().map(\.id) == (isOne ? ["n"] : []))
    #expect(bench.files("/l/trash").isEmpty == !isOne)
    #expect(bench.disk.heldLocks == 0)
  }

  @Test func `what is put back beside it keeps nothing else in the trash that is emptied`()
    async throws
  {
    let (bench, manager) = try await twoPutAway()
    let copy = try #require(try manager.trashedDatastores().first)
    let (result, isOver) = (Shared<CairnError.Code?>(nil), Flag())
    bench.disk.intercept { step in
      guard step.verb == "lock", step.path.hasPrefix(copy.directory), isOver.raise() else {
        return nil
      }
      _ = result.exchange(code { try manager.restore(copy) })
      return nil
    }
    #expect(code { try manager.emptyTrash() } == nil)
    bench.disk.heal()
    #expect(isOver.isUp && result.exchange(nil) == nil)
    #expect(bench.files("/l/trash") == [])
    #expect(try manager.ids() == ["m"])
    let back = try manager.openDatastore("m")
    #expect(try back.ids() == ["r"])
    try back.close()
    #expect(bench.disk.heldLocks == 0)
  }

  /// Two datastores in the trash of a local root, `m` before `n`: only its time is over.
  private func twoPutAway() async throws -> (CatalogueBench, DatastoreManager) {
    let bench = CatalogueBench()
    let manager = bench.local("l")
    for id in ["m", "n"] { try await manager.with(id) { try $0.add("r") } }
    try manager.trash.keep("p-m")
    bench.clock.advance(by: 31 * Self.day)
    try manager.trash.keep("p-n")
    return (bench, manager)
  }

  @Test func `what was left over in a local root goes when a datastore is opened there`()
    async throws
  {
    let bench = CatalogueBench()
    try await bench.local("l").with("n") { try $0.add("r") }
    let disk = bench.disk
    disk.intercept { step in
      if step.verb == "remove" { disk.powerOff(before: step.number) }
      return nil
    }
    #expect(code { try bench.local("l").deleteDatastore("n") } == .fileIO)
    bench.crash(.nothingUnsynced)
    let left = try bench.disk.list("/l").map(\.name)
    #expect(left.count == 1 && left.allSatisfy { FileName.isTemporary($0) })
    try await bench.local("l").with("m")
    #expect(try bench.disk.list("/l").map(\.name) == ["p-m"])
    let staged = FileName.staging(7, "p-x")
    try bench.disk.setBytes("/l/" + staged + "/CURRENT", [1])
    try await bench.local("l").with("m")
    #expect(Set(try bench.disk.list("/l").map(\.name)) == ["p-m", staged])
    bench.clock.advance(by: 8 * Self.day)
    try await bench.local("l").with("m")
    #expect(try bench.disk.list("/l").map(\.name) == ["p-m"])
  }
}
