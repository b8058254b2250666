import Cairn
import CairnDisk
import TestSupport
import Testing

/// What each role may do, and who has it.
@Suite struct RolePermissionTests {
  private let bench: RoleWorkbench

  init() throws { bench = try RoleWorkbench() }

  /// Ann's datastore with one record, and Bob's copy of it.
  private func pair(bob role: Role) async throws -> (ann: Datastore, bob: Datastore) {
    let ann = try bench.manager("ann").createDatastore()
    try ann.table("t").insert(["x": 1, "list": [1, 2]], id: "r")
    try ann.setTitle("Stones")
    // Somebody else, so that there are roles at all.
    try ann.setRole(.editor, for: .user("carl"))
    try ann.setRole(role, for: .user("bob"))
    try ann.sync()
    return (ann, try await bench.join(ann, as: "bob"))
  }

  private struct Stone: TableModel {
    static let table = "t"
    static let rules: [String: ResolutionRule] = ["x": .sum]
    var x: Int
  }

  @Test func `who may not write has typed tables all the same, and sets no rules`() async throws {
    let (_, bob) = try await pair(bob: .viewer)
    #expect(!bob.isWritable)
    let stones = try bob.table(of: Stone.self)
    #expect(try stones.get("r")?.x == 1)
    #expect(try bob.table("t").rule(field: "x") == .remote && bob.unsyncedChangesSize == 0)
  }

  private static let writes: [@Sendable (Datastore) throws -> Void] = [
    { try $0.table("t").insert(["x": 2]) },
    { try $0.table("t").insert(fields: ["x": 2], id: "r") },
    { try $0.table("new").insert(["x": 2], id: "r") },
    { _ = try $0.table("t").getOrInsert("absent", fields: ["x": 2]) },
    { try $0.table("t")["r"].set("x", 2) },
    { try $0.table("t")["r"].set("x", 1) },
    { try $0.table("t")["r"].update(["x": 2, "y": 3]) },
    { try $0.table("t")["r"].set("list", [1, 2, 3]) },
    { try $0.table("t")["r"].remove("x") },
    { try $0.table("t")["r"].delete() },
    { try $0.table("t")["absent"].delete() },
    { try $0.table("t")["absent"].set("x", 1) },
    { try $0.setTitle("Pebbles") },
    { try $0.setTitle(nil) },
    { try $0.setRole(.editor, for: .user("bob")) },
    { try $0.setRole(.viewer, for: .publicAccess) },
    { try $0.deleteRole(for: .user("carl")) },
    { try $0.deleteRole(for: .user("nobody")) },
    { try $0.table("t").setRule(.max, field: "x") },
    { try $0.setDefaultRule(.max) },
    { try $0.table("t")["r"].list("list").append(3) },
    { try $0.table("t")["r"].list("list").insert(3, at: 0) },
    { try $0.table("t")["r"].list("list").insert(contentsOf: [3, 4], at: 0) },
    { try $0.table("t")["r"].list("list").insert(contentsOf: [Value](), at: 0) },
    { try $0.table("t")["r"].list("list").remove(at: 0) },
    { try $0.table("t")["r"].list("list").removeLast() },
    { try $0.table("t")["r"].list("list").replace(at: 0, with: 7) },
    { try $0.table("t")["r"].list("list").move(from: 0, to: 1) },
    { try $0.table("t")["r"].list("new").append(1) },
  ]

  @Test(arguments: [Role.viewer, .none])
  func `who may not write is refused at the call, and nothing changes`(_ role: Role) async throws {
    let (_, bob) = try await pair(bob: role)
    #expect(bob.effectiveRole == role && !bob.isWritable)
    let before = try content(bob)
    let roles = try bob.listRoles()
    for (index, write) in Self.writes.enumerated() {
      let error = #expect(throws: CairnError.self, "\(index)") { try write(bob) }
      #expect(error?.code == .disallowed && error?.isProgrammingError == false, "\(index)")
      #expect(error?.message.contains("read-only") == true)
    }
    #expect(bob.unsyncedChangesSize == 0)
    #expect(try content(bob) == before)
    #expect(try bob.listRoles() == roles)
    #expect(try !bob.sync().committed)
    #expect(try bob.title == "Stones")
  }

  @Test func `who may not write asks nobody to forget, and retires nobody`() async throws {
    let (ann, bob) = try await pair(bob: .viewer)
    #expect(code { try bob.askToForget() } == .disallowed)
    #expect(code { try bob.retireDevice(ann.device) } == .disallowed)
    #expect(try !bob.sync().committed)
  }

  @Test func `a viewer reads, syncs and exchanges`() async throws {
    let (ann, bob) = try await pair(bob: .viewer)
    #expect(try bob.table("t")["r"].int("x") == 1)
    #expect(try bob.table("t").query(["x": 1]).count == 1)
    let (record, inserted) = try bob.table("t").getOrInsert("r", fields: ["x": 9])
    #expect(!inserted)
    #expect(try record.int("x") == 1)
    try ann.table("t")["r"].set("x", 5)
    try await bench.send(ann, to: bob)
    #expect(try record.int("x") == 5)
    try bob.rollback()
    try bob.compact()
    #expect(!bob.isWritable)
  }

  @Test func `an editor changes everything but owners`() async throws {
    let (ann, bob) = try await pair(bob: .editor)
    #expect(bob.effectiveRole == .editor && bob.isWritable)
    for (index, write) in Self.writes.enumerated() where index != 1 && index < 9 {
      if [3, 8].contains(index) { continue }
      #expect(code { try write(bob) } == nil, "\(index)")
    }
    #expect(code { try bob.setRole(.viewer, for: .user("ann")) } == .disallowed)
    #expect(code { try bob.deleteRole(for: .user("ann")) } == .disallowed)
    try bob.deleteRole(for: .user("carl"))
    try bob.setRole(.viewer, for: .publicAccess)
    try await bench.send(bob, to: ann)
    let roles: [Principal: Role] = [
      .user("ann"): .owner, .user("bob"): .editor, .publicAccess: .viewer,
    ]
    #expect(try ann.listRoles() == roles)
    #expect(ann.effectiveRole == .owner)
  }

  @Test func `roles hold from the sync that brings them, in both directions`() async throws {
    let (ann, bob) = try await pair(bob: .editor)
    let table = try bob.table("t")
    try ann.setRole(.viewer, for: .user("bob"))
    try ann.sync()
    try await ann.exchange()
    try await bob.exchange()
    // Fetched, and not yet seen.
    #expect(bob.isWritable)
    try table["r"].set("x", 7)
    // Was allowed when it was done, and is committed.
    #expect(try bob.sync().committed)
    #expect(bob.effectiveRole == .viewer && !bob.isWritable)
    #expect(code { try table["r"].set("x", 8) } == .disallowed)
    try await bench.send(bob, to: ann)
    #expect(try ann.table("t")["r"].int("x") == 7)
    try ann.setRole(.editor, for: .user("bob"))
    try await bench.send(ann, to: bob)
    #expect(bob.isWritable)
    try table["r"].set("x", 8)
  }

  @Test func `roles hold after reopening and from a snapshot`() async throws {
    let (ann, bob) = try await pair(bob: .viewer)
    try bob.compact()
    #expect(!bob.isWritable)
    try bob.close()
    let again = try bob.manager.openDatastore(bob.id)
    #expect(again.effectiveRole == .viewer)
    #expect(code { try again.table("t").insert(["x": 1]) } == .disallowed)
    try ann.compact()
    #expect(ann.effectiveRole == .owner)
    #expect(try ann.listRoles().count == 3)
  }

  @Test func `giving oneself less is taken back by a rollback`() async throws {
    let (_, bob) = try await pair(bob: .editor)
    try bob.setRole(.viewer, for: .user("bob"))
    #expect(!bob.isWritable)
    #expect(code { try bob.setRole(.editor, for: .user("bob")) } == .disallowed)
    try bob.rollback()
    #expect(bob.effectiveRole == .editor)
    try bob.table("t").insert(["x": 1])
  }

  @Test func `the highest of the own role and everybody's holds`() async throws {
    let (ann, bob) = try await pair(bob: .viewer)
    try ann.setRole(.editor, for: .publicAccess)
    try await bench.send(ann, to: bob)
    #expect(bob.effectiveRole == .editor)
    #expect(try bob.role(for: .user("bob")) == .viewer)
    try ann.deleteRole(for: .user("bob"))
    try ann.setRole(.viewer, for: .publicAccess)
    try await bench.send(ann, to: bob)
    #expect(bob.effectiveRole == .viewer)
    try ann.deleteRole(for: .publicAccess)
    try await bench.send(ann, to: bob)
    #expect(bob.effectiveRole == .none)
  }

  @Test func `all devices of the owner are the owner's`() async throws {
    let (ann, _) = try await pair(bob: .viewer)
    let other = try await bench.join(
      ann, as: "ann", manager: bench.manager("ann", device: "ann's phone"))
    #expect(other.effectiveRole == .owner)
  }

  @Test func `without an owner it is everybody's until somebody gives a role`() async throws {
    let ann = try bench.manager("ann").openOrCreateDatastore(".nobodys")
    try ann.table("t").insert(["x": 1], id: "r")
    try ann.sync()
    let bob = try await bench.join(ann, as: "bob")
    #expect(ann.effectiveRole == .owner && bob.effectiveRole == .owner)
    #expect(try bob.listRoles().isEmpty)
    #expect(code { try bob.setRole(.viewer, for: .user("bob")) } == .disallowed)
    try bob.setRole(.viewer, for: .publicAccess)
    #expect(try bob.listRoles() == [.user("bob"): .owner, .publicAccess: .viewer])
    try await bench.send(bob, to: ann)
    #expect(ann.effectiveRole == .viewer && bob.effectiveRole == .owner)
  }

  @Test func `a removal wins over a concurrent change`() async throws {
    let (ann, bob) = try await pair(bob: .editor)
    try ann.deleteRole(for: .user("carl"))
    try bob.setRole(.viewer, for: .user("carl"))
    try ann.sync()
    try bob.sync()
    for _ in 0..<2 {
      try await bench.send(ann, to: bob)
      try await bench.send(bob, to: ann)
    }
    for datastore in [ann, bob] {
      #expect(try datastore.role(for: .user("carl")) == .none)
      #expect(try datastore.listRoles() == [.user("ann"): .owner, .user("bob"): .editor])
    }
  }

  @Test func `no rule for data decides about roles`() async throws {
    let (ann, bob) = try await pair(bob: .editor)
    try ann.setDefaultRule(.max)
    try await bench.send(ann, to: bob)
    try ann.setRole(.viewer, for: .user("carl"))
    try ann.setRole(.viewer, for: .user("eve"))
    try ann.sync()
    // So that the two commits have different times.
    try await Task.sleep(for: .milliseconds(5))
    try bob.setRole(.none, for: .publicAccess)
    try bob.setRole(.editor, for: .publicAccess)
    try bob.setRole(.viewer, for: .user("carl"))
    try bob.setRole(.editor, for: .user("carl"))
    try bob.setRole(.viewer, for: .user("dora"))
    try bob.setRole(.editor, for: .user("eve"))
    try bob.sync()
    for _ in 0..<2 {
      try await bench.send(ann, to: bob)
      try await bench.send(bob, to: ann)
    }
    // Bob wrote what was there before, which is no change: Ann's is the only one.
    #expect(try ann.role(for: .user("carl")) == .viewer)
    // Both gave a role: the first counts, and not the greatest.
    for datastore in [ann, bob] { #expect(try datastore.role(for: .user("eve")) == .viewer) }
    #expect(try ann.listRoles() == bob.listRoles())
  }

  // MARK: teams

  private func linked(
    _ user: String, _ organization: String?
  ) throws -> (LinkedAccount, DatastoreManager) {
    let accounts = try AccountManager(directory: bench.place.path("accounts-" + user))
    let account = Account(user: user, folder: .directory(bench.place.path("folder")))
    let info = AccountInfo(userName: user, orgName: organization)
    let linked = try accounts.link(account, info: info)
    return (linked, try accounts.manager(for: linked))
  }

  @Test func `the team is the owner's organisation`() async throws {
    let (_, manager) = try linked("ann", "Quarry")
    let ann = try manager.createDatastore()
    try ann.setRole(.editor, for: .team)
    try ann.sync()
    let (account, bobs) = try linked("bob", "Quarry")
    let bob = try await bench.join(ann, as: "bob", manager: bobs)
    let carl = try await bench.join(ann, as: "carl", manager: linked("carl", "Mine").1)
    let dora = try await bench.join(ann, as: "dora", manager: linked("dora", nil).1)
    #expect(bob.effectiveRole == .editor)
    #expect(carl.effectiveRole == .none && dora.effectiveRole == .none)
    #expect(try bob.listRoles() == [.user("ann"): .owner, .team: .editor])
    // The organisation may change while the datastore is open.
    try account.setInfo(AccountInfo(userName: "Bob", orgName: "Mine"))
    #expect(bob.effectiveRole == .none && !bob.isWritable)
    try account.setInfo(AccountInfo(userName: "Bob", orgName: "Quarry"))
    #expect(bob.isWritable)
  }

  @Test func `an owner without an organisation has no team`() async throws {
    let (account, manager) = try linked("ann", nil)
    let ann = try manager.createDatastore()
    let error = #expect(throws: CairnError.self) { try ann.setRole(.viewer, for: .team) }
    #expect(error?.code == .invalidOperation && error?.message.contains("orgName") == true)
    #expect(ann.unsyncedChangesSize == 0)
    try account.setInfo(AccountInfo(userName: "Ann", orgName: "Quarry"))
    try ann.setRole(.viewer, for: .team)
    try ann.setRole(.editor, for: .publicAccess)
    try ann.sync()
    // Now it is known, an editor can change what the team may do.
    let bob = try await bench.join(ann, as: "bob", manager: linked("bob", nil).1)
    #expect(bob.effectiveRole == .editor)
    try bob.setRole(.editor, for: .team)
    #expect(try bob.role(for: .team) == .editor)
  }
}
