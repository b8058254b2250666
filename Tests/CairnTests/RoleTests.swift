import Cairn
import CairnDisk
import TestSupport
import Testing

/// Roles are given, listed and taken away.
@Suite struct RoleTests {
  private let bench: RoleWorkbench

  init() throws { bench = try RoleWorkbench() }

  @Test func `unknown numbers round down`() {
    let expected: [(Int64, Role)] = [
      (.min, .none), (-1, .none), (0, .none), (999, .none), (1000, .viewer), (1999, .viewer),
      (2000, .editor), (2999, .editor), (3000, .owner), (.max, .owner),
    ]
    for (number, role) in expected { #expect(Role(rounding: number) == role, "\(number)") }
    #expect(Role.allCases.map(\.rawValue) == [0, 1000, 2000, 3000])
    #expect(Role.allCases.sorted() == [.none, .viewer, .editor, .owner])
  }

  @Test func `who creates a datastore owns it, also after a rollback and in the next run`() throws {
    let manager = try bench.manager("ann")
    let datastore = try manager.createDatastore()
    #expect(try datastore.listRoles() == [.user("ann"): .owner])
    #expect(datastore.effectiveRole == .owner && datastore.isWritable && datastore.isShareable)
    #expect(datastore.unsyncedChangesSize == 0)
    #expect(datastore.recordCount == 1 && datastore.size == 1200)
    #expect(try datastore.tables().isEmpty)
    try datastore.rollback()
    try datastore.close()
    let again = try manager.openDatastore(datastore.id)
    #expect(try again.role(for: .user("ann")) == .owner)
    #expect(code { _ = try again.table(":acl") } == .illegalArgument)
  }

  @Test func `roles are given and taken away`() throws {
    let datastore = try bench.manager("ann").createDatastore()
    #expect(try datastore.role(for: .publicAccess) == .none)
    try datastore.setRole(.viewer, for: .publicAccess)
    try datastore.setRole(.editor, for: .user("bob"))
    #expect(try datastore.role(for: .publicAccess) == .viewer)
    let all: [Principal: Role] = [
      .user("ann"): .owner, .user("bob"): .editor, .publicAccess: .viewer,
    ]
    #expect(try datastore.listRoles() == all)
    #expect(datastore.recordCount == 3 && datastore.size == 1600)
    try datastore.rollback()
    #expect(try datastore.listRoles() == [.user("ann"): .owner])
    try datastore.setRole(.editor, for: .user("bob"))
    try datastore.sync()
    try datastore.setRole(.editor, for: .user("bob"))
    #expect(try !datastore.sync().committed)
    try datastore.setRole(.none, for: .user("bob"))
    #expect(try datastore.role(for: .user("bob")) == .none)
    try datastore.deleteRole(for: .user("bob"))
    try datastore.deleteRole(for: .team)
    #expect(try datastore.listRoles() == [.user("ann"): .owner])
    #expect(datastore.size == 1200)
  }

  @Test(arguments: [
    "b", "Ann", "0", "bob@example.com", "ä/ö", "a b", "=41", "/", "a=b", "..", "\u{0}\n",
    String(repeating: "x", count: 63), String(repeating: "x", count: 64),
    String(repeating: "ü", count: 500), String(repeating: "A", count: 21),
  ])
  func `any text can be a user`(_ user: String) throws {
    let owner = try bench.manager("ann").createDatastore()
    try owner.setRole(.viewer, for: .user(user))
    #expect(try owner.role(for: .user(user)) == .viewer)
    #expect(try owner.listRoles() == [.user("ann"): .owner, .user(user): .viewer])
    try owner.sync()
    let own = try bench.manager(user, device: "other").createDatastore()
    #expect(try own.listRoles() == [.user(user): .owner])
    #expect(own.effectiveRole == .owner)
    #expect(code { try own.setRole(.viewer, for: .user(user)) } == .disallowed)
  }

  @Test func `a user needs an id`() throws {
    let datastore = try bench.manager("ann").createDatastore()
    #expect(code { try datastore.setRole(.viewer, for: .user("")) } == .illegalArgument)
    #expect(code { _ = try datastore.role(for: .user("")) } == .illegalArgument)
  }

  @Test func `nobody can be made an owner, and no owner be changed`() throws {
    let datastore = try bench.manager("ann").createDatastore()
    for principal: Principal in [.team, .publicAccess, .user("bob"), .user("ann")] {
      #expect(code { try datastore.setRole(.owner, for: principal) } == .illegalArgument)
    }
    for role: Role in [.none, .viewer, .editor] {
      #expect(code { try datastore.setRole(role, for: .user("ann")) } == .disallowed)
    }
    #expect(code { try datastore.deleteRole(for: .user("ann")) } == .disallowed)
    #expect(datastore.unsyncedChangesSize == 0)
  }

  @Test func `a private datastore has no roles, and says so`() throws {
    let datastore = try bench.manager("ann").openDefaultDatastore()
    #expect(!datastore.isShareable)
    #expect(datastore.effectiveRole == .owner && datastore.isWritable)
    let calls: [(Datastore) throws -> Void] = [
      { _ = try $0.listRoles() }, { _ = try $0.role(for: .publicAccess) },
      { try $0.setRole(.viewer, for: .publicAccess) }, { try $0.deleteRole(for: .team) },
    ]
    for call in calls {
      let error = #expect(throws: CairnError.self) { try call(datastore) }
      #expect(error?.code == .invalidOperation && error?.isProgrammingError == true)
      #expect(error?.message.contains("shareable") == true)
    }
  }

  @Test func `in a local datastore roles can be prepared, and bind nobody`() throws {
    let manager = try DatastoreManager(root: bench.place.path("local"))
    let datastore = try manager.createDatastore()
    #expect(datastore.recordCount == 0)
    try datastore.setRole(.viewer, for: .publicAccess)
    try datastore.setRole(.viewer, for: .team)
    try datastore.sync()
    #expect(datastore.effectiveRole == .owner && datastore.isWritable)
    #expect(try datastore.listRoles() == [.publicAccess: .viewer, .team: .viewer])
    try datastore.table("t").insert(["x": 1])
  }

  @Test func `roles that were prepared in a local datastore bind once it is moved`() async throws {
    let local = try DatastoreManager(root: bench.place.path("local"))
    // Made under a name, so that only its list can tell.
    let prepared = try local.openOrCreateDatastore(".board")
    try prepared.setRole(.viewer, for: .publicAccess)
    try prepared.table("t").insert(["x": 1], id: "r")
    try prepared.sync()
    try prepared.close()
    let manager = try bench.manager("ann")
    try local.migrate(to: manager)
    let ann = try manager.openDatastore(prepared.id)
    #expect(ann.effectiveRole == .owner)
    #expect(try ann.listRoles() == [.user("ann"): .owner, .publicAccess: .viewer])
    #expect(ann.unsyncedChangesSize == 0)
    let bob = try await bench.join(ann, as: "bob")
    #expect(bob.effectiveRole == .viewer)
    #expect(code { try bob.table("t")["r"].set("x", 2) } == .disallowed)
    #expect(code { try bob.setRole(.editor, for: .user("bob")) } == .disallowed)
  }

  @Test func `who created a local datastore owns it once it is moved, who opened one does not`()
    throws
  {
    let local = try DatastoreManager(root: bench.place.path("local"))
    let made = try local.createDatastore()
    try made.table("t").insert(["x": 1])
    try made.sync()
    try made.close()
    try local.openOrCreateDatastore(".nobodys").close()
    let manager = try bench.manager("ann")
    try local.migrate(to: manager)
    let own = try manager.openDatastore(made.id)
    #expect(try own.listRoles() == [.user("ann"): .owner])
    #expect(own.recordCount == 2)
    #expect(try manager.openDatastore(".nobodys").listRoles().isEmpty)
  }

  @Test func `what is moved to where there is an owner gets no other one`() async throws {
    let ann = try bench.manager("ann").createDatastore()
    try ann.setRole(.editor, for: .user("bob"))
    try ann.sync()
    let manager = try bench.manager("bob")
    try await bench.join(ann, as: "bob", manager: manager).close()
    let local = try DatastoreManager(root: bench.place.path("local"))
    let prepared = try local.openOrCreateDatastore(ann.id)
    try prepared.setRole(.viewer, for: .publicAccess)
    try prepared.sync()
    try prepared.close()
    try local.migrate(to: manager)
    let bob = try manager.openDatastore(ann.id)
    #expect(bob.effectiveRole == .editor)
    let all: [Principal: Role] = [
      .user("ann"): .owner, .user("bob"): .editor, .publicAccess: .viewer,
    ]
    #expect(try bob.listRoles() == all)
  }

  @Test func `a move that fails at any step, and is repeated, gives one owner`() throws {
    for step in 1...1000 {
      let memory = CatalogueBench(seed: 3)
      memory.options.durability = .full
      let made = try memory.local("l").createDatastore()
      try made.setRole(.viewer, for: .publicAccess)
      try made.sync()
      try made.close()
      memory.disk.failAt(operation: memory.disk.operations + step, reason: .io(errno: 5))
      do { try memory.local("l").migrate(to: memory.manager("a")) } catch {}
      let isOver = memory.disk.strikes.isEmpty
      memory.disk.heal()
      try memory.local("l").migrate(to: memory.manager("a"))
      let datastore = try memory.manager("a").openDatastore(made.id)
      #expect(try datastore.listRoles() == [.user("ann"): .owner, .publicAccess: .viewer])
      if isOver { return }
    }
    Issue.record("the move has more than 1000 steps")
  }

  @Test func `a repair of a local datastore keeps that it was created there`() async throws {
    let memory = CatalogueBench()
    let local = memory.local("l")
    let made = try local.createDatastore()
    try made.add("r")
    try made.close()
    let current = try #require(memory.disk.paths().first { $0.hasSuffix("/CURRENT") })
    try memory.disk.remove(current)
    #expect(try await local.repairDatastore(made.id).wasNeeded)
    let manager = memory.manager("a")
    try local.migrate(to: manager)
    let datastore = try manager.openDatastore(made.id)
    #expect(try datastore.listRoles() == [.user("ann"): .owner])
    #expect(try datastore.ids() == ["r"])
  }

  @Test func `a local datastore is not created if that can't be noted`() throws {
    let memory = CatalogueBench()
    let local = memory.local("l")
    memory.disk.intercept { step in
      step.target?.hasSuffix("/ROLE") == true ? .noSpace : nil
    }
    #expect(code { _ = try local.createDatastore() } == .diskSpace)
    memory.disk.intercept(nil)
    #expect(try local.listDatastores().isEmpty)
  }

  @Test func `a role that finds no room leaves no trace`() throws {
    var options = Options()
    options.limits.datastoreBytes = 1400
    let account = Account(user: "ann", folder: .directory(bench.place.path("folder")))
    let manager = try DatastoreManager(
      root: bench.place.path("small"), account: account, options: options)
    // Nobody's yet: the first role brings its owner with it, and that is one too many.
    let datastore = try manager.openOrCreateDatastore(".nobodys")
    try datastore.table("t").insert([:])
    try datastore.sync()
    #expect(code { try datastore.setRole(.viewer, for: .publicAccess) } == .sizeLimit)
    #expect(try datastore.listRoles().isEmpty)
    #expect(datastore.size == 1100)
    #expect(try !datastore.sync().committed)
  }

  @Test func `a closed datastore has the role that was last known`() async throws {
    let owner = try bench.manager("ann").createDatastore()
    try owner.setRole(.viewer, for: .publicAccess)
    try owner.sync()
    let manager = try bench.manager("bob")
    let guest = try await bench.join(owner, as: "bob", manager: manager)
    #expect(guest.effectiveRole == .viewer)
    #expect(try manager.listDatastores().map(\.role) == [.viewer])
    try guest.close()
    #expect(guest.effectiveRole == .viewer && !guest.isWritable)
    #expect(code { _ = try guest.listRoles() } == .closed)
    #expect(code { try guest.setRole(.none, for: .team) } == .closed)
    // Without opening it.
    for lists in [manager, try bench.manager("bob")] {
      let info = try #require(try lists.listDatastores().first)
      #expect(info.role == .viewer && !info.isWritable && info.isShareable)
    }
    try manager.openDefaultDatastore().close()
    let infos = try manager.listDatastores()
    #expect(infos.map(\.isWritable).sorted { !$0 && $1 } == [false, true])
  }

  @Test func `a datastore that can't get its owner is not created`() throws {
    var options = Options()
    options.limits.datastoreBytes = 1150
    let account = Account(user: "ann", folder: .directory(bench.place.path("folder")))
    let manager = try DatastoreManager(
      root: bench.place.path("tiny"), account: account, options: options)
    let told = Told<[String]>()
    let observation = manager.observeDatastores(on: { $0() }) { told.add($0.map(\.id)) }
    #expect(code { _ = try manager.createDatastore() } == .sizeLimit)
    #expect(try manager.listDatastores().isEmpty)
    #expect(told.all.last == [])
    withExtendedLifetime(observation) {}
    let left = try PosixDisk().list(bench.place.path("tiny")).map(\.name)
    #expect(!left.contains { $0.hasPrefix("s-") })
  }

  /// A user's manager on a disk in memory, with the folder on it.
  private func manager(_ user: String, on memory: CatalogueBench) -> DatastoreManager {
    let machine = memory.machine
    return DatastoreManager(
      root: "/" + user, account: Account(user: user, folder: .directory("/folder")),
      folder: { DirectoryFolder("/folder", machine: machine) }, options: memory.options,
      machine: machine)
  }

  @Test func `nor is one that gets it from a disk that does not make that durable`() throws {
    let memory = CatalogueBench()
    memory.options.durability = .full
    let manager = manager("ann", on: memory)
    let syncs = Shared(0)
    memory.disk.intercept { step in
      guard step.verb == "sync", step.path.hasSuffix(".seg") else { return nil }
      // The first one is of the empty segment.
      let number = syncs.withLock { count in
        count += 1
        return count
      }
      return number == 2 ? .io(errno: 5) : nil
    }
    #expect(code { _ = try manager.createDatastore() } == .syncFailed)
    #expect(syncs.withLock { $0 } >= 2)
    #expect(try manager.listDatastores().isEmpty)
    #expect(!memory.files("/ann").contains { $0.hasPrefix("s-") })
  }

  @Test func `a role that could not be noted is noted when the datastore is closed`() async throws {
    let memory = CatalogueBench()
    let ann = try manager("ann", on: memory).createDatastore()
    try ann.setRole(.editor, for: .publicAccess)
    try ann.sync()
    let bobs = manager("bob", on: memory)
    let bob = try await bench.join(ann, as: "bob", manager: bobs)
    try ann.setRole(.viewer, for: .publicAccess)
    try ann.sync()
    try await ann.exchange()
    try await bob.exchange()
    let isRefused = Flag()
    memory.disk.intercept { step in
      guard step.target?.hasSuffix("/ROLE") == true else { return nil }
      isRefused.raise()
      return .noSpace
    }
    try bob.sync()
    #expect(isRefused.isUp && bob.effectiveRole == .viewer)
    memory.disk.intercept(nil)
    try bob.close()
    #expect(try bobs.listDatastores().map(\.role) == [.viewer])
  }

  @Test(arguments: [false, true])
  func `a role that was given up and not synced is there when it is closed`(
    isShutDown: Bool
  ) async throws {
    let owner = try bench.manager("ann").createDatastore()
    try owner.setRole(.editor, for: .user("bob"))
    try owner.sync()
    let manager = try bench.manager("bob")
    let bob = try await bench.join(owner, as: "bob", manager: manager)
    try bob.deleteRole(for: .user("bob"))
    #expect(bob.effectiveRole == .none)
    if isShutDown { try manager.shutDown() } else { try bob.close() }
    #expect(bob.effectiveRole == .editor)
    #expect(try bench.manager("bob").listDatastores().map(\.role) == [.editor])
  }
}
