import Cairn
import CairnDisk
import Synchronization
import TestSupport
import Testing

/// Queries with indexes and cursors while other threads write, sync and compact.
@Suite struct QueryConcurrencyTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  @Test func `readers find what is steady while writers and compaction are at work`() throws {
    var options = Options()
    options.durability = .none
    let manager = try DatastoreManager(root: place.path + "/root", options: options)
    let datastore = try manager.openDefaultDatastore()
    let table = try datastore.table("t")
    // Steady records have numbers from 1000 on, those that move stay below.
    for number in 0..<400 {
      try table.insert(["n": .int(Int64(number < 200 ? number : number + 1000))])
    }
    try datastore.addIndex(table: "t", field: "n")
    try datastore.sync()
    let steady = Query().where("n", .greaterOrEqual(1000))
    try Threads.run(5) { thread in
      for round in 0..<60 {
        switch thread {
        case 0, 1:
          for record in try table.query(Query().where("n", .less(1000))).prefix(20) {
            try record.set("n", .int(Int64((round * 37 + thread * 101) % 1000)))
          }
          try datastore.sync()
        case 2: if round % 10 == 0 { try datastore.compact() }
        case 3:
          #expect(try table.count(where: steady) == 200)
          let first = try table.query(steady.sorted(by: "n").limit(3))
          #expect(try first.map { try $0.int("n") } == [1200, 1201, 1202])
        default:
          var seen: Set<RecordID> = []
          try table.records().forEach { record throws(CairnError) in
            #expect(seen.insert(record.id).inserted)
          }
          #expect(seen.count == 400)
        }
      }
    }
    #expect(try table.count(where: Query().where("n", .less(1000))) == 200)
    try datastore.close()
  }

  @Test func `a cursor that many threads use gives each record once`() throws {
    let manager = try DatastoreManager(root: place.path + "/root")
    let datastore = try manager.openDefaultDatastore()
    let table = try datastore.table("t")
    for number in 0..<2000 { try table.insert(["n": .int(Int64(number))]) }
    let cursor = try table.records()
    let seen = Lock<[RecordID]>([])
    try Threads.run(4) { _ in
      while let record = try cursor.next() { seen.withLock { $0.append(record.id) } }
    }
    let all = seen.withLock { $0 }
    #expect(all.count == 2000 && Set(all).count == 2000)
  }
}
