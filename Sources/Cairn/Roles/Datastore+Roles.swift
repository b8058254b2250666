internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// Who may do what in a datastore with a shareable id.
///
/// Roles are records of the datastore: they are changed, committed, merged and synced like data, a
/// removal wins over a concurrent change. They bind well-behaved programs: there is no server, and
/// nothing is signed, so that whoever can write into the folder can write anything there. In a
/// local datastore they can be prepared: they bind once `DatastoreManager.migrate(to:)` has moved
/// it.
extension Datastore {
  /// What the user may do in it now: `viewer` in what is only followed; `owner` in a local
  /// datastore, in one with a private id, in what the user created, and where nobody is named as
  /// the owner; otherwise the highest of the roles of the user, of everybody and, in the owner's
  /// organisation, of the team. One that is closed says what was last known. Who is in the team is
  /// known to the managers of an `AccountManager` only.
  public var effectiveRole: Role { Role(store.accessLevel) }

  /// Whether the user may change anything. What is refused otherwise throws `disallowed`, and
  /// `readOnly` in what is only followed.
  public var isWritable: Bool { effectiveRole >= .editor }

  /// The role that a principal was given itself; `none` if it was given none.
  ///
  /// - Throws: `invalidOperation` for a datastore with a private id.
  public func role(for principal: Principal) throws(CairnError) -> Role {
    let record = try record(of: principal)
    let list = try wrapped { () throws(StoreError) in try store.accessList() }
    return list.first { $0.record == record }.map { Role($0.level) } ?? .none
  }

  /// Gives a principal a role; `none` takes it away. Like any change it shows at once and needs a
  /// `sync()`. In a datastore that has no owner yet, the user becomes its owner.
  ///
  /// - Throws: `illegalArgument` for `owner`, which can't be given; `disallowed` for the role of an
  ///   owner, or if the user may not write; `invalidOperation` for a datastore with a private id,
  ///   and for the team of an owner whose organisation is not known; `sizeLimit`.
  public func setRole(_ role: Role, for principal: Principal) throws(CairnError) {
    let record = try record(of: principal)
    guard role < .owner else {
      throw CairnError(
        .illegalArgument, "nobody can be made the owner of \(id): who created it is; give editor",
        id: id)
    }
    var user: String?
    if case .user(let id) = principal { user = Principal.userField(id) }
    try wrapped { [user] () throws(StoreError) in
      try store.setAccess(role.level, of: record, user: user)
    }
  }

  /// Takes a principal's role away; no effect if it has none.
  ///
  /// - Throws: as `setRole(_:for:)`.
  public func deleteRole(for principal: Principal) throws(CairnError) {
    try setRole(.none, for: principal)
  }

  /// All roles that were given, that of the owner among them.
  ///
  /// - Throws: `invalidOperation` for a datastore with a private id.
  public func listRoles() throws(CairnError) -> [Principal: Role] {
    try requireShareable()
    var result: [Principal: Role] = [:]
    for entry in try wrapped({ () throws(StoreError) in try store.accessList() }) {
      if let principal = Principal(entry) { result[principal] = Role(entry.level) }
    }
    return result
  }

  private func record(of principal: Principal) throws(CairnError) -> RecordName {
    try requireShareable()
    return try principal.record
  }

  private func requireShareable() throws(CairnError) {
    guard isShareable else {
      throw CairnError(
        .invalidOperation,
        "\(id) is private and has no roles; they need a datastore with a shareable id, which "
          + "createDatastore() makes", id: id)
    }
  }

  /// Makes the user the owner of a datastore that was just created, for good. In a local one there
  /// is no user: it is noted for the account that it may be moved to.
  func claim() throws(CairnError) {
    guard roleNote != nil else {
      return try wrapped { () throws(StoreError) in try RoleNote.noteCreated(store) }
    }
    try wrapped { () throws(StoreError) in
      try store.claim()
      try store.sync()
    }
  }

  /// Lets the list decide who may write, as far as there is somebody to keep out.
  func limitAccess() throws(CairnError) {
    guard let roleNote, let policy = manager.accessPolicy else { return }
    try wrapped { () throws(StoreError) in try store.limitAccess(policy) }
    roleNote.note(effectiveRole)
  }
}

extension DatastoreManager {
  /// Whose roles count in what is shared; nil for local datastores, which nobody else has.
  var accessPolicy: AccessPolicy? {
    guard let user = account?.user else { return nil }
    return AccessPolicy(
      record: Principal.record(user: user), user: Principal.userField(user),
      organization: organization.withLock { $0 })
  }
}
