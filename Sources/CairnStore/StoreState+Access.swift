import CairnMerge

/// Who may write. Worked out when the list changes, so that a change costs one comparison.
extension StoreState {
  /// An entry of the list.
  struct AccessEntry {
    var level: AccessLevel
    var organization: String?
    var user: String?
  }

  /// Works out anew what the user may do. The list is short.
  mutating func readAccess() throws(StoreError) {
    guard let policy = access.policy else { return }
    let level = StoreState.level(of: policy, in: try accessList())
    access.level = level
    access.isWritable = level >= .editor
  }

  mutating func accessList() throws(StoreError) -> [RecordName: AccessEntry] {
    var result: [RecordName: AccessEntry] = [:]
    let number = table(AccessTable.name)
    for (id, place) in try places(in: number) {
      var entry = AccessEntry(level: .none)
      for (field, value) in try tables[number].fields(place, &ground, rules) {
        switch (field, value) {
        case (AccessTable.role, .int(let number)): entry.level = AccessLevel(rounding: number)
        case (AccessTable.organization, .string(let name)): entry.organization = name
        case (AccessTable.user, .string(let user)): entry.user = user
        default: break
        }
      }
      result[id] = entry
    }
    return result
  }

  /// The highest of what everybody, the owner's organisation and the user were given. A list that
  /// names no owner binds nobody: there would be nobody left who may change it.
  static func level(of policy: AccessPolicy, in list: [RecordName: AccessEntry]) -> AccessLevel {
    let owners = owners(in: list)
    let own = list[policy.record]?.level ?? .none
    if owners.isEmpty || own == .owner { return .owner }
    var level = max(own, list[AccessTable.everybody]?.level ?? .none)
    if let organization = policy.organization, let team = list[AccessTable.team]?.level,
      owners.values.contains(where: { $0.organization == organization })
    {
      level = max(level, team)
    }
    // Only a user's own record makes an owner.
    return min(level, .editor)
  }

  static func owners(in list: [RecordName: AccessEntry]) -> [RecordName: AccessEntry] {
    list.filter { AccessTable.isUser($0.key) && $0.value.level == .owner }
  }

  @inline(__always)
  func requireWritable() throws(StoreError) {
    if !access.isWritable { throw access.error }
  }
}

extension Access {
  fileprivate var error: StoreError {
    if isFollowed {
      return StoreError(
        .readOnly,
        "the datastore is somebody else's, and is followed here: it is changed by its own devices "
          + "only. To change it, link its folder as an account, with another root")
    }
    let role = level == .none ? "none" : "viewer"
    return StoreError(
      .disallowed,
      "the datastore is read-only for you, your role in it is \(role): ask somebody who may write "
        + "to give you the role editor, and sync")
  }
}
