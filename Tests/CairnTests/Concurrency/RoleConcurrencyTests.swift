import Cairn
import CairnDisk
import Synchronization
import TestSupport
import Testing

/// Roles that change while others write.
@Suite struct RoleConcurrencyTests {
  @Test func `writers see either role and never half of a change`() throws {
    let bench = try RoleWorkbench()
    let datastore = try bench.manager("ann").createDatastore()
    try datastore.setRole(.editor, for: .user("bob"))
    try datastore.sync()
    let failures = Lock<[String]>([])
    let threads = (0..<4).map { thread in
      BackgroundThread {
        do {
          for round in 0..<100 {
            if thread == 0 {
              let role: Role = round % 2 == 0 ? .viewer : .editor
              try datastore.setRole(role, for: .user("bob"))
              try datastore.setRole(role, for: .user("carl"))
              if round % 10 == 9 { try datastore.sync() }
            } else if thread == 1 {
              let roles = try datastore.listRoles()
              #expect(roles[.user("ann")] == .owner)
              #expect(datastore.effectiveRole == .owner && datastore.isWritable)
            } else {
              try datastore.table("t").insert(["n": .int(Int64(round))])
            }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
    }
    for thread in threads { try #require(thread).join() }
    #expect(failures.withLock { $0 } == [])
    #expect(try datastore.table("t").count == 200)
    #expect(try datastore.role(for: .user("carl")) == .editor)
  }

  @Test func `the role changes under a viewer's hands`() async throws {
    let bench = try RoleWorkbench()
    let ann = try bench.manager("ann").createDatastore()
    try ann.setRole(.editor, for: .user("bob"))
    try ann.sync()
    let bob = try await bench.join(ann, as: "bob")
    try ann.setRole(.viewer, for: .user("bob"))
    try ann.sync()
    try await ann.exchange()
    try await bob.exchange()
    let failures = Lock<[String]>([])
    let threads = (0..<4).map { thread in
      BackgroundThread {
        do {
          for round in 0..<200 {
            if thread == 0 {
              if round == 50 { try bob.sync() }
              continue
            }
            do { try bob.table("t").insert(["a": 1, "b": 1]) } catch let error as CairnError {
              if error.code != .disallowed { throw error }
            }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
    }
    for thread in threads { try #require(thread).join() }
    #expect(failures.withLock { $0 } == [])
    #expect(!bob.isWritable)
    #expect(code { try bob.table("t").insert(["a": 1]) } == .disallowed)
    for record in try bob.table("t").query() { #expect(try record.fields.count == 2) }
  }
}
