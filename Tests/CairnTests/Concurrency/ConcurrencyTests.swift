import Cairn
import CairnDisk
import Synchronization
import TestSupport
import Testing

/// Many threads in one datastore.
@Suite struct ConcurrencyTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  private func manager(_ change: (inout Options) -> Void = { _ in }) throws -> DatastoreManager {
    var options = Options()
    options.durability = .none
    change(&options)
    return try DatastoreManager(root: place.path + "/root", options: options)
  }

  private func id(_ thread: Int, _ index: Int) -> RecordID { RecordID("r\(thread)-\(index)") }

  @Test func `what eight threads do at once is all there, also after reopening`() throws {
    let manager = try manager()
    let datastore = try manager.openDefaultDatastore()
    let table = try datastore.table("t")
    try Threads.run(8) { thread in
      for index in 0..<100 {
        let record = try table.insert(
          ["thread": .int(Int64(thread)), "n": .int(0)], id: id(thread, index))
        try record.update(["n": .int(Int64(index)), "text": .string("v\(index)")])
        #expect(try record.int("n") == Int64(index))
        if index % 5 == 4 { try record.delete() }
        if index % 10 == 9 { try datastore.sync() }
        if index % 20 == 19 {
          let mine = try table.query(["thread": .int(Int64(thread))])
          #expect(mine.count == (index + 1) / 5 * 4)
        }
      }
    }
    var expected: [String: [String: Value]] = [:]
    for thread in 0..<8 {
      for index in 0..<100 where index % 5 != 4 {
        expected["t/\(id(thread, index))"] = [
          "thread": .int(Int64(thread)), "n": .int(Int64(index)), "text": .string("v\(index)"),
        ]
      }
    }
    let size = try table.query().reduce(1000) { $0 + (try $1.size) }
    for store in [datastore, nil] {
      try store?.sync()
      try store?.close()
      let open = try manager.openDefaultDatastore()
      #expect(try content(open) == expected)
      #expect(open.recordCount == 640 && open.size == size)
      try open.close()
    }
  }

  @Test func `eight threads name one datastore, and none is refused`() throws {
    let manager = try manager()
    for round in 0..<100 {
      let datastore = try manager.openOrCreateDatastore("d\(round)")
      try Threads.run(8) { thread in try datastore.setTitle("title \(thread)") }
      #expect(try datastore.title?.hasPrefix("title ") == true)
      #expect(datastore.recordCount == 1)
      try datastore.close()
    }
  }

  @Test func `two fields of one update are never seen half`() throws {
    let datastore = try manager { $0.segmentBytes = 64 << 10 }.openDefaultDatastore()
    let table = try datastore.table("t")
    for index in 0..<20 { try table.insert(["a": 0, "b": 0], id: RecordID("r\(index)")) }
    try datastore.sync()
    let done = Countdown(2)
    try Threads.run(6) { thread in
      if thread < 2 {
        for round in 1...600 {
          let value = Value.int(Int64(round * 2 + thread))
          try table[RecordID("r\(round % 20)")].update(["a": value, "b": value])
          if round % 40 == 0 { try datastore.sync() }
        }
        done.down()
      } else if thread == 2 {
        while !done.isOver { try datastore.compact() }
      } else {
        while !done.isOver {
          for record in try table.query() {
            let fields = try record.fields
            #expect(fields["a"] == fields["b"] && fields.count == 2)
          }
        }
      }
    }
    #expect(try table.count == 20)
  }

  private final class Countdown: Sendable {
    private let left: Atomic<Int>
    init(_ count: Int) { left = Atomic(count) }
    func down() { left.subtract(1, ordering: .sequentiallyConsistent) }
    var isOver: Bool { left.load(ordering: .sequentiallyConsistent) <= 0 }
  }

  @Test func `a sync and a rollback are about the changes of all threads`() throws {
    let datastore = try manager().openDefaultDatastore()
    let record = try datastore.table("t").insert(["n": 0], id: "r")
    try datastore.sync()
    try Threads.run(1) { _ in try record.set("n", 1) }
    try datastore.rollback()
    #expect(try record.int("n") == 0)
    try Threads.run(1) { _ in try record.set("n", 2) }
    #expect(try datastore.sync().committed)
    try Threads.run(1) { _ in try datastore.rollback() }
    #expect(try record.int("n") == 2)
  }

  @Test func `a rollback takes back whole updates only`() throws {
    let datastore = try manager().openDefaultDatastore()
    let table = try datastore.table("t")
    try table.insert(["a": 0, "b": 0], id: "r")
    try datastore.sync()
    let done = Countdown(2)
    try Threads.run(4) { thread in
      switch thread {
      case 0, 1:
        for round in 1...500 {
          try table["r"].update(["a": .int(Int64(round)), "b": .int(Int64(round))])
          if thread == 1, round % 7 == 0 { try datastore.sync() }
        }
        done.down()
      case 2: while !done.isOver { try datastore.rollback() }
      default:
        while !done.isOver {
          let fields = try table["r"].fields
          #expect(fields["a"] == fields["b"] && fields.count == 2)
        }
      }
    }
    try datastore.rollback()
    #expect(datastore.unsyncedChangesSize == 0)
    #expect(datastore.size == 1000 + 300)
  }

  @Test func `commits, compactions and reads go on at once over many small segments`() throws {
    let manager = try manager { $0.segmentBytes = 64 << 10 }
    let datastore = try manager.openDefaultDatastore()
    let table = try datastore.table("t")
    let done = Countdown(2)
    try Threads.run(5) { thread in
      switch thread {
      case 0, 1:
        let random = SeededRandom(UInt64(thread))
        for index in 0..<200 {
          let bytes = random.bytes(1000)
          try table.insert(["bytes": .bytes(bytes), "i": .int(Int64(index))], id: id(thread, index))
          if index >= 100 { try table[id(thread, index - 100)].delete() }
          try datastore.sync()
        }
        done.down()
      case 2:
        while !done.isOver {
          let report = try datastore.compact()
          #expect(report.records <= 202)
        }
      default:
        while !done.isOver {
          for record in try table.query() {
            // Between the query and here it may have been deleted.
            if let bytes = try record.bytes("bytes") { #expect(bytes.count == 1000) }
          }
        }
      }
    }
    let before = try content(datastore)
    #expect(before.count == 200)
    #expect(Set(before.values.map { $0["i"] }) == Set((100..<200).map { .int(Int64($0)) }))
    try datastore.close()
    let again = try manager.openDefaultDatastore()
    #expect(again.recoveryNotes == [])
    #expect(try content(again) == before)
  }

  @Test func `of all who insert one id at once one succeeds`() throws {
    let datastore = try manager().openDefaultDatastore()
    let table = try datastore.table("t")
    let counts = Counts()
    try Threads.run(6) { thread in
      for index in 0..<100 {
        do {
          try table.insert(["by": .int(Int64(thread))], id: RecordID("i\(index)"))
          counts.inserted.add(1, ordering: .relaxed)
        } catch let error as CairnError { #expect(error.code == .exists) }
        let (record, isNew) = try table.getOrInsert(
          RecordID("g\(index)"), fields: ["by": .int(Int64(thread))])
        if isNew { counts.got.add(1, ordering: .relaxed) }
        #expect(try record.int("by") != nil)
      }
    }
    #expect(counts.inserted.load(ordering: .relaxed) == 100)
    #expect(counts.got.load(ordering: .relaxed) == 100)
    #expect(try table.count == 200 && datastore.recordCount == 200)
  }

  private final class Counts: Sendable {
    let inserted = Atomic<Int>(0)
    let got = Atomic<Int>(0)
  }

  @Test func `closing while others work gives them closed and keeps what was committed`() throws {
    let manager = try manager()
    let datastore = try manager.openDefaultDatastore()
    let table = try datastore.table("t")
    let commits = Committed()
    try Threads.run(5) { thread in
      if thread == 0 {
        while commits.all.count < 40 {}
        try datastore.close()
        return
      }
      for index in 0..<1_000_000 {
        do {
          try table.insert(["i": .int(Int64(index))], id: id(thread, index))
          try datastore.sync()
          commits.add(id(thread, index))
        } catch let error as CairnError {
          #expect(error.code == .closed)
          return
        }
      }
    }
    #expect(!datastore.isOpen)
    let again = try manager.openDefaultDatastore()
    let there = Set(try again.table("t").query().map(\.id))
    #expect(commits.all.isSubset(of: there) && commits.all.count >= 40)
  }

  private final class Committed: Sendable {
    private let ids = Lock<Set<RecordID>>([])
    var all: Set<RecordID> { ids.withLock { $0 } }
    func add(_ id: RecordID) { ids.withLock { _ = $0.insert(id) } }
  }

  @Test func `rounds that are asked for at once run one by one and lose nothing`() async throws {
    let devices = try TwoDevices()
    let (a, b) = (devices.a, devices.b)
    let published = try await withThrowingTaskGroup(of: UInt64.self) { group in
      for task in 0..<8 {
        group.addTask {
          var published: UInt64 = 0
          for index in 0..<5 {
            try a.table("t").insert(["i": .int(Int64(index))], id: self.id(task, index))
            try a.sync()
            published += try await a.exchange().publishedDeltas
            _ = try await b.exchange()
            try b.sync()
          }
          return published
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(published == a.publishedDeltas && published == a.committedDeltas)
    try await devices.meet()
    #expect(try content(b).count == 40)
    #expect(try content(b) == content(a))
  }

  @Test func `two devices that exchange in the background become equal`() async throws {
    var options = Options()
    options.pollSeconds = 0.02...0.1
    let devices = try TwoDevices(options: options)
    let (a, b) = (devices.a, devices.b)
    let problems = Told<String>()
    for device in [a, b] {
      try device.startExchanging { result in
        switch result {
        case .success(let report): for problem in report.problems { problems.add("\(problem)") }
        case .failure(let error): problems.add("\(error)")
        }
      }
    }
    for index in 0..<30 {
      for (name, device) in [("a", a), ("b", b)] {
        let table = try device.table("t")
        try table.insert(["i": .int(Int64(index))], id: RecordID("\(name)\(index)"))
        let (shared, _) = try table.getOrInsert("shared")
        try shared.set(name, .int(Int64(index)))
        try device.sync()
      }
      await Task.yield()
    }
    let clock = ContinuousClock()
    // Only so that a failure ends: a busy machine may take minutes.
    let limit = clock.now + .seconds(1200)
    while clock.now < limit {
      try a.sync()
      try b.sync()
      if try content(a).count == 61, try content(a) == content(b) { break }
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(try content(a) == content(b))
    #expect(try content(a)["t/shared"] == ["a": 29, "b": 29])
    #expect(a.recordCount == 61 && b.recordCount == 61 && a.size == b.size)
    a.stopExchanging()
    b.stopExchanging()
    #expect(problems.all == [])
  }
}
