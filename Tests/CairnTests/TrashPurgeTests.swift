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

  private static let year2026: Int64 = 1_767_225_600_000
  private static let year2099: Int64 = 4_070_908_800_000

  @Test func `what was put away while the clock was ahead goes after its days all the same`()
    throws
  {
    for name in ["p-x", "p-y", "p-z"] { try disk.setBytes("/r/" + name + "/CURRENT", [1]) }
    clock.set(Self.year2099)
    let gone = try trash.keep("p-x")
    let used = try trash.keep("p-y")
    let kept = try trash.keep("p-z", reason: "it was repaired") + "/CURRENT"
    let lock = try disk.lock(used + "/" + FileName.lock)
    clock.set(Self.year2026)
    try disk.setBytes("/r/p-n/CURRENT", [2])
    let near = try trash.keep("p-n") + "/CURRENT"
    trash.purge()
    // Beside the one that has this time already.
    let moved = "/r/trash/\(Self.year2026 + 1)/p-x/CURRENT"
    #expect(disk.bytes(gone + "/CURRENT") == nil && disk.bytes(moved) == [1])
    #expect(disk.bytes(used + "/CURRENT") == [1], "it stays where somebody uses it")
    #expect(disk.bytes(near) == [2])
    lock.unlock()
    clock.advance(by: 31 * Self.day)
    trash.purge()
    #expect(disk.bytes(moved) == nil && disk.bytes(near) == nil)
    clock.advance(by: 31 * Self.day)
    trash.purge()
    #expect(disk.bytes(kept) == [1] && disk.paths().count == 2, "with its reason")
    #expect(disk.heldLocks == 0)
  }

  /// All of it would look years old once the clock is right again.
  @Test func `by a clock that has lost its date nothing in the trash changes its time`() throws {
    clock.set(Self.year2026)
    try disk.setBytes("/r/p-x/CURRENT", [1])
    let kept = try trash.keep("p-x") + "/CURRENT"
    clock.set(0)
    trash.purge()
    clock.set(Self.year2026 + 30 * Self.day)
    trash.purge()
    #expect(disk.bytes(kept) == [1])
    clock.advance(by: 1)
    trash.purge()
    #expect(disk.paths() == [])
  }

  /// A device that forgets the time begins with the day its system was built.
  @Test func `by a clock that is months behind nothing in the trash changes its time`() throws {
    let autumn = Self.year2026 + 300 * Self.day
    clock.set(autumn)
    try disk.setBytes("/r/p-x/CURRENT", [1])
    let kept = try trash.keep("p-x") + "/CURRENT"
    clock.set(Self.year2026)
    trash.purge()
    clock.set(autumn + 30 * Self.day)
    trash.purge()
    #expect(disk.bytes(kept) == [1])
    clock.advance(by: 1)
    trash.purge()
    #expect(disk.paths() == [])
  }

  /// A local root with a copy that was put away while the clock was ahead.
  private func oneAhead() async throws -> (CatalogueBench, DatastoreManager, DeletedDatastore) {
    let bench = CatalogueBench()
    let manager = bench.local("l")
    try await manager.with("n") { try $0.add("r") }
    bench.clock.set(Self.year2099)
    try manager.trash.keep("p-n")
    bench.clock.set(Self.year2026)
    return (bench, manager, try #require(try manager.trashedDatastores().first))
  }

  @Test func `one that got another time since it was listed is not taken for removed`()
    async throws
  {
    let (bench, manager, listed) = try await oneAhead()
    manager.trash.purge()
    #expect(code { try manager.emptyTrash(of: listed) } == .notFound)
    let copy = try #require(try manager.trashedDatastores().first)
    #expect(copy.directory != listed.directory)
    try manager.emptyTrash(of: copy)
    #expect(bench.files("/l/trash") == [])
    #expect(code { try manager.emptyTrash(of: copy) } == nil, "it is gone, as was asked for")
  }

  @Test func `one that gets another time while the trash is emptied goes all the same`()
    async throws
  {
    let (bench, manager, listed) = try await oneAhead()
    let (trash, isOver) = (manager.trash, Flag())
    bench.disk.intercept { step in
      guard step.verb == "lock", step.path.hasPrefix(listed.directory), isOver.raise() else {
        return nil
      }
      trash.purge()
      return nil
    }
    #expect(code { try manager.emptyTrash() } == nil)
    bench.disk.heal()
    #expect(isOver.isUp && bench.files("/l/trash") == [])
    #expect(bench.disk.heldLocks == 0)
  }

  @Test func `what was put together while the clock was ahead goes, unless somebody is at it`()
    throws
  {
    clock.set(Self.year2099)
    let staged = "/r/" + FileName.staging(7, "p-x") + "/CURRENT"
    let used = "/r/" + FileName.staging(8, "p-y")
    for path in [staged, used + "/CURRENT"] { try disk.setBytes(path, [1]) }
    let lock = try disk.lock(used + "/" + FileName.lock)
    clock.set(Self.year2026)
    trash.purge()
    #expect(Set(disk.paths()) == [used + "/CURRENT", used + "/" + FileName.lock])
    lock.unlock()
    trash.purge()
    #expect(disk.paths() == [])
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
