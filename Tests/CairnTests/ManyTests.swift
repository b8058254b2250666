import Cairn
import TestSupport
import Testing

/// More than what is looked up by comparing with each.
@Suite struct ManyTests {
  @Test func `forty tables keep their records apart`() throws {
    let place = try TemporaryDirectory()
    for round in 0..<3 {
      let manager = try DatastoreManager(root: place.path)
      let datastore = try manager.openDefaultDatastore()
      for number in 0..<40 {
        let table = try datastore.table("table-\(number)")
        if round == 0 {
          try table.insert(["number": .int(Int64(number))], id: "only")
        } else {
          #expect(try table["only"].int("number") == Int64(number + round - 1))
          try table["only"].set("number", .int(Int64(number + round)))
        }
      }
      try datastore.sync()
      #expect(try datastore.tables().count == 40)
      // Once from the log, once from a snapshot.
      if round == 1 { try datastore.compact() }
      try datastore.close()
    }
  }

  @Test func `many open datastores are found, and closed in one go`() throws {
    let place = try TemporaryDirectory()
    let manager = try DatastoreManager(root: place.path)
    let order = (0..<30).map { ($0 * 17) % 30 }
    let datastores = try order.map { try manager.openOrCreateDatastore("d\($0)") }
    for datastore in datastores {
      #expect(code { _ = try manager.openDatastore(datastore.id) } == .alreadyOpen)
    }
    for datastore in datastores.prefix(10) { try datastore.close() }
    for datastore in datastores.prefix(10) {
      #expect(try manager.openDatastore(datastore.id).isOpen)
    }
    try manager.shutDown()
    #expect(datastores.allSatisfy { !$0.isOpen })
    #expect(try DatastoreManager(root: place.path).listDatastores().count == 30)
  }
}
