import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Local datastores become an account's, whole, once, and with everything that is in them.
@Suite struct MigrationTests {
  private let bench = CatalogueBench()

  private static let everything: [String: Value] = [
    "b": true, "i": 7, "d": 1.5, "s": "text", "y": .bytes([1, 2]),
    "t": .date(Timestamp(millisecondsSince1970: 5)), "l": [1, 2.5, "three"],
  ]

  @Test func `everything is moved, and the local manager is empty and shut down`() async throws {
    let local = bench.local("l")
    try await local.with("default") {
      try $0.setTitle("Mine")
      try $0.table("t").setRule(.max, field: "m")
      try $0.setDefaultRule(.local)
      try $0.table("t").insert(fields: Self.everything, id: "r")
      try $0.table("u").insert([:])
    }
    let shared = try local.createDatastore()
    try shared.add("s")
    try shared.close()
    let a = bench.manager("a")
    let report = try local.migrate(to: a)
    #expect(report.datastores.map(\.id) == [shared.id, "default"])
    #expect(report.datastores.map(\.records) == [1, 5] && !report.hasCompletedEarlier)
    #expect(report.datastores.allSatisfy { $0.conflicts == [] && $0.mergedRecords == 0 })
    #expect(local.isShutDown && bench.files("/l") == ["MIGRATION.LOCK"])
    #expect(try bench.local("l").listDatastores() == [])
    #expect(try a.listDatastores().map(\.title) == [nil, "Mine"])
    let datastore = try a.openDefaultDatastore()
    #expect(try datastore.table("t")["r"].fields == Self.everything)
    #expect(try datastore.tables().map(\.id) == ["t", "u"] && datastore.title == "Mine")
    #expect(try datastore.table("t").rule(field: "m") == .max)
    #expect(try datastore.table("t").rule(field: "x") == .local)
    try await datastore.exchange()
    try datastore.close()
    try await a.refresh()
    let b = bench.manager("b")
    try await b.refresh()
    #expect(try await b.content("default") == ["r"])
  }

  @Test func `two devices that were used alone merge when both are linked`() async throws {
    let names = ["a", "b"]
    for (index, name) in names.enumerated() {
      let local = bench.local(name + "-local")
      try await local.with("default") {
        let t = try $0.table("t")
        try t.setRule(.sum, field: "n")
        try t.insert(["n": .int(Int64(10 + index)), "x": .string(name)], id: "both")
        try t.insert(["only": true], id: RecordID(name))
        try t["both"].set(name, 1)
        try t["both"].list("l").append(.string(name))
        try t["both"].set("whole", [.string(name)])
      }
      bench.clock.advance(by: 10)
      try local.migrate(to: bench.manager(name))
    }
    let managers = names.map { bench.manager($0) }
    for _ in 0..<3 { for manager in managers { try await manager.with("default") } }
    for manager in managers {
      #expect(try await manager.content("default") == ["a", "b", "both"])
      let datastore = try manager.openDefaultDatastore()
      let fields = try datastore.table("t")["both"].fields
      // A list that both have begun is one list; of two that were set one shows.
      let lists: [String: Value] = ["l": ["a", "b"], "whole": ["a"]]
      let others: [String: Value] = ["n": 21, "x": "a", "a": 1, "b": 1]
      #expect(fields == others.merging(lists) { $1 })
      try datastore.close()
    }
  }

  @Test func `a list that was begun here and emptied again hides no other one`() async throws {
    let names = ["x", "y"]
    for name in names {
      let local = bench.local(name + "-local")
      try await local.with("default") {
        let list = try $0.table("t").insert([:], id: "r").list("l")
        for item in name == "x" ? ["x"] : ["a", "b"] { try list.append(.string(item)) }
        try $0.sync()
        if name == "x" { try list.remove(at: 0) }
      }
      bench.clock.advance(by: 10)
      try local.migrate(to: bench.manager(name))
    }
    let managers = names.map { bench.manager($0) }
    for _ in 0..<3 { for manager in managers { try await manager.with("default") } }
    for manager in managers {
      let datastore = try manager.openDefaultDatastore()
      #expect(try datastore.table("t")["r"].fields == ["l": ["a", "b"]])
      try datastore.close()
    }
  }

  /// Also where the copy's list is one that several devices have edited, in a snapshot.
  @Test(arguments: [[], ["c"]], [false, true])
  func `a list that was begun here goes behind the one in the account's copy`(
    items: [String], isFolded: Bool
  ) async throws {
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") {
      try $0.table("t").setRule(.local, field: "l")
      try $0.table("t").insert([:], id: "r")
      try $0.table("t")["r"].list("l").append("b")
    }
    try await b.with("n")
    try await b.with("n") { try $0.table("t")["r"].list("l").insert("a", at: 0) }
    try await a.with("n")
    try await a.with("n") { if isFolded { try $0.compact() } }
    let local = bench.local("l")
    try await local.with("n") {
      let list = try $0.table("t").insert([:], id: "r").list("l")
      for item in items + ["gone"] { try list.append(.string(item)) }
      try $0.sync()
      try list.removeLast()
    }
    #expect(try local.migrate(to: a).datastores.first?.conflicts == [])
    let all = Value.list((["a", "b"] + items).map(Value.string))
    #expect(try a.openDatastore("n").table("t")["r"].fields == ["l": all])
  }

  @Test func `a copy of the account on this device is merged by the rules, losers are listed`()
    async throws
  {
    let a = bench.manager("a")
    try await a.with("n") {
      let t = try $0.table("t")
      try t.setRule(.sum, field: "sum")
      try t.setRule(.max, field: "max")
      try t.setRule(.min, field: "min")
      try t.setRule(.local, field: "local")
      try t.insert(
        ["same": 1, "sum": 1, "max": 1, "min": 1, "local": 1, "x": 1, "theirs": 1], id: "r")
      try t.insert(["x": 1], id: "theirs")
      try $0.setTitle("account's")
    }
    let local = bench.local("l")
    try await local.with("n") {
      let t = try $0.table("t")
      try t.setRule(.min, field: "x")
      try t.insert(
        ["same": 1, "sum": 2, "max": 2, "min": 2, "local": 2, "x": 2, "mine": 2], id: "r")
      try t.insert(["x": 2], id: "mine")
      try $0.setTitle("local")
    }
    let report = try local.migrate(to: a)
    let moved = try #require(report.datastores.first)
    #expect(moved.mergedRecords == 3)
    let lost = Dictionary(uniqueKeysWithValues: moved.conflicts.map { ($0.field, $0.lost) })
    #expect(lost == ["max": 1, "min": 2, "local": 1, "x": 2, "title": "local"])
    let datastore = try a.openDatastore("n")
    let expected: [String: Value] = [
      "same": 1, "sum": 3, "max": 2, "min": 1, "local": 2, "x": 1, "theirs": 1, "mine": 2,
    ]
    #expect(try datastore.table("t")["r"].fields == expected)
    #expect(try datastore.ids() == ["r", "theirs", "mine"] && datastore.title == "account's")
    // The same device goes on, and another one gets it all.
    try await datastore.exchange()
    let b = bench.manager("b")
    #expect(try await b.content("n") == ["r", "theirs", "mine"])
    let copy = try b.openDatastore("n")
    #expect(try copy.table("t")["r"].fields == expected)
  }

  @Test func `what is more than a commit may hold is moved all the same`() async throws {
    let local = bench.local("l")
    let datastore = try local.openOrCreateDatastore("n")
    for number in 0..<60 {
      let bytes = bench.random.bytes(90_000)
      try datastore.table("t").insert(["x": .bytes(bytes)], id: RecordID("r\(number)"))
      if number % 20 == 19 { try datastore.sync() }
    }
    try datastore.close()
    var options = Options()
    options.limits.datastoreBytes = 1000
    bench.options = options
    let a = bench.manager("a")
    try local.migrate(to: a)
    let moved = try a.openDatastore("n")
    #expect(moved.recordCount == 60 && moved.size > 5_000_000)
    let report = try await moved.exchange()
    #expect(report.publishedDeltas > 3)
    #expect(try await bench.manager("b").content("n").count == 60)
  }

  @Test func `nothing is moved while anything is open, or between the wrong managers`() throws {
    let (local, a) = (bench.local("l"), bench.manager("a"))
    let datastore = try local.openOrCreateDatastore("n")
    try datastore.add("r")
    #expect(code { try local.migrate(to: a) } == .alreadyOpen)
    // Open through another manager of the same root.
    #expect(code { try bench.local("l").migrate(to: a) } == .alreadyOpen)
    try datastore.close()
    let other = try a.openOrCreateDatastore("other")
    #expect(code { try local.migrate(to: a) } == .alreadyOpen)
    try other.close()
    let same = try a.openOrCreateDatastore("n")
    #expect(code { try local.migrate(to: bench.manager("a")) } == .alreadyOpen)
    try same.close()
    #expect(code { try a.migrate(to: local) } == .invalidOperation)
    #expect(code { try local.migrate(to: bench.local("m")) } == .invalidOperation)
    #expect(code { try local.migrate(to: bench.manager("l")) } == .invalidOperation)
    #expect(try local.ids() == ["n"] && !local.isShutDown)
    try a.shutDown()
    #expect(code { try local.migrate(to: a) } == .shutdown)
    try local.migrate(to: bench.manager("a"))
    #expect(code { try local.migrate(to: bench.manager("a")) } == .shutdown)
    #expect(try bench.local("l").migrate(to: bench.manager("a")).datastores == [])
  }

  @Test func `an account's copy that has lost its CURRENT is not taken for none`() async throws {
    let (local, a) = (bench.local("l"), bench.manager("a"))
    try await local.with("n") { try $0.add("mine") }
    try await a.with("n") { try $0.add("theirs") }
    try bench.disk.remove("/a/p-n/CURRENT")
    let before = bench.files("/a/p-n")
    let error = failure { try local.migrate(to: a) }
    #expect(error?.code == .corrupt && error?.file == "/a/p-n/CURRENT")
    #expect(bench.files("/a/p-n") == before && bench.files("/a/trash") == [])
    #expect(try local.ids() == ["n"])
    _ = try await a.repairDatastore("n")
    #expect(try local.migrate(to: a).datastores.map(\.id) == ["n"])
    #expect(try await a.content("n") == ["mine", "theirs"])
  }

  @Test func `a local datastore that has lost its CURRENT is not left behind without a word`()
    async throws
  {
    let (local, a) = (bench.local("l"), bench.manager("a"))
    for id in ["m", "n"] { try await local.with(id) { try $0.add("of-" + id) } }
    try bench.disk.remove("/l/p-n/CURRENT")
    let before = bench.files("/l")
    let error = failure { try local.migrate(to: a) }
    #expect(error?.code == .corrupt && error?.file == "/l/p-n/CURRENT" && error?.id == "n")
    #expect(Set(bench.files("/l")) == Set(before).union(["MIGRATION.LOCK"]))
    #expect(try local.ids() == ["m"] && a.ids() == [])
    #expect(code { _ = try local.openDatastore("n") } == .corrupt)
    _ = try await local.repairDatastore("n")
    #expect(try local.migrate(to: a).datastores.map(\.id) == ["m", "n"])
    for id in ["m", "n"] { #expect(try await a.content(id) == ["of-" + id]) }
  }

  @Test func `what a crash leaves of one that was being created is in nobody's way`() async throws {
    let (local, a) = (bench.local("l"), bench.manager("a"))
    try await local.with("m") { try $0.add("r") }
    for id in ["n", "o"] {
      for part in ["", "/log", "/snap"] { try bench.disk.createDirectory("/l/p-\(id)\(part)") }
    }
    #expect(code { _ = try local.openDatastore("n") } == .notFound)
    try await local.with("n") { try $0.add("r") }
    #expect(try local.migrate(to: a).datastores.map(\.id) == ["m", "n"])
  }

  /// Does something once, when the first two of three local datastores are staged in the account's
  /// root.
  private func whileMoving(_ body: @escaping @Sendable (Machine) throws -> Void) async throws {
    for id in ["x", "y", "z"] { try await bench.local("l").with(id) { try $0.add("of-" + id) } }
    let (machine, isOver) = (bench.machine, Flag())
    bench.disk.intercept { operation in
      guard operation.path.hasPrefix("/a/m"), operation.path.contains("-p-z"), isOver.raise()
      else { return nil }
      do { try body(machine) } catch { Issue.record(error) }
      return nil
    }
  }

  /// A device that sleeps, or a clock that is put right: to who clears up all of it looks old.
  @Test func `a clock that jumps in the middle of a move costs no datastore`() async throws {
    let clock = bench.clock
    try await whileMoving { machine in
      clock.advance(by: 8 * 86_400_000)
      Trash(root: "/a", machine: machine).purge()
    }
    let (local, a) = (bench.local("l"), bench.manager("a"))
    #expect(try local.migrate(to: a).datastores.map(\.id) == ["x", "y", "z"])
    bench.disk.intercept(nil)
    #expect(try bench.local("l").ids() == [])
    #expect(try a.ids() == ["x", "y", "z"])
    for id in ["x", "y", "z"] { #expect(try await a.content(id) == ["of-" + id]) }
  }

  /// An earlier version clears up without asking.
  @Test func `if what is staged is not there any more, nothing is moved`() async throws {
    try await whileMoving { machine in
      for entry in try machine.disk.list("/a") where FileName.stagingToken(entry.name) != nil {
        if entry.name.hasSuffix("-p-x") { try machine.disk.removeTree("/a/" + entry.name) }
      }
    }
    let (local, a) = (bench.local("l"), bench.manager("a"))
    #expect(code { try local.migrate(to: a) } == .retryLater)
    bench.disk.intercept(nil)
    #expect(try local.ids() == ["x", "y", "z"] && a.ids() == [])
    #expect(!bench.files("/a").contains { $0.hasPrefix("m") })
    #expect(try local.migrate(to: a).datastores.map(\.id) == ["x", "y", "z"])
    for id in ["x", "y", "z"] { #expect(try await a.content(id) == ["of-" + id]) }
  }

  // MARK: crashes

  /// A local root with two datastores, and an account with a copy of one of them.
  private static func prepared() async throws -> CatalogueBench {
    let bench = CatalogueBench(seed: 3)
    bench.options.durability = .full
    try await bench.manager("a").with("both") {
      try $0.table("t").setRule(.sum, field: "n")
      try $0.table("t").insert(["n": 1, "a": 1], id: "r")
    }
    let local = bench.local("l")
    try await local.with("both") { try $0.table("t").insert(["n": 2, "l": 2], id: "r") }
    try await local.with("only") { try $0.table("t").insert(["n": 5], id: "r") }
    return bench
  }

  private static func fields(
    _ manager: DatastoreManager, _ id: String
  ) throws -> [String: Value]? {
    guard try manager.ids().contains(id) else { return nil }
    let datastore = try manager.openDatastore(id)
    defer { try? datastore.close() }
    return try datastore.table("t").record("r")?.fields
  }

  private static let merged: [String: Value] = ["n": 3, "a": 1, "l": 2]
  private static let theirs: [String: Value] = ["n": 1, "a": 1]
  private static let mine: [String: Value] = ["n": 2, "l": 2]

  /// Before and after are the only states that anybody ever sees, and the next call completes it.
  private static func check(_ bench: CatalogueBench, _ first: Int) throws {
    let (local, a) = (bench.local("l"), bench.manager("a"))
    // Either manager may be the one that is used first.
    let atHome: [[String: Value]?]
    let inAccount: [[String: Value]?]
    if first == 0 {
      atHome = [try fields(local, "both"), try fields(local, "only")]
      inAccount = [try fields(a, "both"), try fields(a, "only")]
    } else {
      inAccount = [try fields(a, "both"), try fields(a, "only")]
      atHome = [try fields(local, "both"), try fields(local, "only")]
    }
    let isBefore = atHome == [mine, ["n": 5]] && inAccount == [theirs, nil]
    let isAfter = atHome == [nil, nil] && inAccount == [merged, ["n": 5]]
    try Difference.demand(isBefore || isAfter, "\(atHome) and \(inAccount)")
    try local.migrate(to: a)
    let end = [try fields(a, "both"), try fields(a, "only")]
    try Difference.demand(end == [merged, ["n": 5]], "at the end \(end)")
    // Half-written files may stay for whoever clears up; they are in nobody's way.
    let home = bench.files("/l").filter { !$0.hasSuffix(".tmp") && $0 != "MIGRATION.LOCK" }
    try Difference.demand(home.isEmpty, "left at home: \(home)")
    let left = bench.files("/a").filter { $0.hasPrefix("m") || $0 == "MIGRATION" }
    try Difference.demand(left.isEmpty, "left in the account: \(left)")
  }

  private struct Difference: Error, CustomStringConvertible {
    var description: String

    static func demand(_ condition: Bool, _ text: @autoclosure () -> String) throws {
      if !condition { throw Difference(description: text()) }
    }
  }

  @Test func `a power cut at any step loses nothing and doubles nothing`() async throws {
    let start = try await Self.prepared()
    let count = try Self.steps(of: start)
    #expect(count > 40)
    for step in 1...(count + 1) {
      let bench = try await Self.prepared()
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try bench.local("l").migrate(to: bench.manager("a")) } catch {
        try #require(bench.disk.isOff, "\(error)")
      }
      let disk = bench.disk
      for (index, model) in CrashModel.all(seeds: 0..<2).enumerated() {
        bench.use(disk.crash(keep: model))
        do { try Self.check(bench, index % 2) } catch {
          Issue.record("power off before step \(step), \(model): \(error)")
          return
        }
      }
    }
  }

  @Test func `a failing disk or a killed app changes nothing or completes it`() async throws {
    let count = try Self.steps(of: try await Self.prepared())
    for step in 1...count {
      let bench = try await Self.prepared()
      bench.disk.failAt(operation: bench.disk.operations + step, reason: .io(errno: 5))
      do { try bench.local("l").migrate(to: bench.manager("a")) } catch {}
      bench.disk.heal()
      let killed = bench.disk.snapshot()
      for first in 0..<2 {
        bench.use(killed.snapshot())
        do { try Self.check(bench, first) } catch {
          Issue.record("failed at step \(step), \(first): \(error)")
          return
        }
      }
    }
  }

  /// No later sync makes durable what a failed one has lost, and nobody sees that it has.
  @Test func `what was moved is there after a power cut, also if a name failed to become durable`()
    async throws
  {
    let count = try Self.steps(of: try await Self.prepared())
    var failures = 0
    for step in 1...count {
      let bench = try await Self.prepared()
      bench.disk.failAt(operation: bench.disk.operations + step, reason: .io(errno: 5))
      do { try bench.local("l").migrate(to: bench.manager("a")) } catch {}
      bench.disk.heal()
      guard let strike = bench.disk.strikes.last, strike.verb == "sync",
        try bench.disk.info(strike.path)?.kind == .directory
      else { continue }
      failures += 1
      do {
        try Self.check(bench, failures % 2)
        bench.crash(.nothingUnsynced)
        let (local, a) = (bench.local("l"), bench.manager("a"))
        let atHome: [[String: Value]?] = [
          try Self.fields(local, "both"), try Self.fields(local, "only"),
        ]
        let inAccount: [[String: Value]?] = [
          try Self.fields(a, "both"), try Self.fields(a, "only"),
        ]
        try Difference.demand(
          atHome == [nil, nil] && inAccount == [Self.merged, ["n": 5]],
          "after the power cut \(atHome) and \(inAccount)")
      } catch {
        Issue.record("the sync of \(strike.path) failed at step \(step): \(error)")
        return
      }
    }
    #expect(failures > 10)
  }

  /// The app is killed in the middle of a move, when a file is there.
  private static func killed(when path: String) async throws -> CatalogueBench {
    for step in 1..<1000 {
      let bench = try await Self.prepared()
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try bench.local("l").migrate(to: bench.manager("a")) } catch {}
      bench.disk.heal()
      let isStaged = bench.files("/a").contains { $0.hasPrefix("m") && $0.hasSuffix("/INFO") }
      if isStaged, bench.disk.bytes(path) != nil { return bench }
    }
    throw Difference(description: "\(path) was never there")
  }

  @Test(arguments: ["/l", "/a"])
  func `what another process is moving is left alone`(root: String) async throws {
    let bench = try await Self.killed(when: root + "/MIGRATION")
    // That process, still at work.
    let lock = try bench.disk.lock(root + "/MIGRATION.LOCK")
    let before = bench.files("/a") + bench.files("/l")
    let (local, a) = (bench.local("l"), bench.manager("a"))
    let user = root == "/l" ? local : a
    #expect(code { _ = try user.listDatastores() } == .retryLater)
    #expect(code { _ = try user.openDatastore("both") } == .retryLater)
    #expect(code { try local.migrate(to: a) } == .retryLater)
    #expect(Set(bench.files("/a") + bench.files("/l")).subtracting(before).allSatisfy {
      $0 == "MIGRATION.LOCK"
    })
    #expect(Set(before).isSubset(of: bench.files("/a") + bench.files("/l")))
    lock.unlock()
    try Self.check(bench, 0)
  }

  @Test func `what was written in the account's place meanwhile is kept`() async throws {
    let bench = try await Self.killed(when: "/a/MIGRATION")
    try bench.disk.setBytes("/a/p-only/CURRENT", [1])
    #expect(try bench.manager("a").ids() == ["both", "only"])
    #expect(bench.files("/a/trash").contains { $0.hasSuffix("/p-only/CURRENT") })
    try Self.check(bench, 1)
  }

  private static func steps(of bench: CatalogueBench) throws -> Int {
    let before = bench.disk.operations
    try bench.local("l").migrate(to: bench.manager("a"))
    return bench.disk.operations - before
  }
}
