import CairnDisk
package import CairnMerge
import Synchronization

/// The list of who may do what. Its records are merged, counted and synced like all others.
extension Store {
  /// From now on changes are refused unless the list lets this user make them; nil: never.
  package func limitAccess(_ policy: AccessPolicy?) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      // A policy could only allow more.
      if guarded.store.access.isFollowed { return }
      let before = guarded.store.access
      guarded.store.access = Access(policy: policy)
      // A list that can't be read just now makes nobody an owner.
      do throws(StoreError) { try guarded.store.readAccess() } catch {
        guarded.store.access = before
        throw error
      }
    }
  }

  /// What the user of `limitAccess` may do; the last that was known after `close`.
  package var accessLevel: AccessLevel { state.withLock { $0.store.access.level } }

  /// An entry of the list.
  package struct AccessEntry: Sendable {
    package var record: RecordName
    package var level: AccessLevel
    /// The user's id, where the record's does not tell it.
    package var user: String?
  }

  /// All entries, by the ids of their records.
  package func accessList() throws(StoreError) -> [AccessEntry] {
    let list = try withState { guarded throws(StoreError) in try guarded.store.accessList() }
    return list.map { AccessEntry(record: $0.key, level: $0.value.level, user: $0.value.user) }
      .sorted { $0.record.text < $1.record.text }
  }

  /// Writes an entry, or with `none` deletes it. The first who does so in a datastore without an
  /// owner becomes its owner, in the same step.
  package func setAccess(
    _ level: AccessLevel, of record: RecordName, user: String? = nil
  ) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      try guarded.store.requireWritable()
      let list = try guarded.store.accessList()
      let own = try guarded.store.ownEntry(giving: level, to: record, list)
      let isOwn = record == guarded.store.access.policy?.record
      if list[record]?.level == .owner || own != nil && isOwn {
        throw StoreError(
          .disallowed, "the owner of a datastore stays its owner; give roles to others",
          id: record.text)
      }
      try guarded.store.write(level, record, user, own: own, list, limits: options.limits)
      try guarded.store.readAccess()
    }
  }

  /// Makes the user the owner, unless there is one.
  package func claim() throws(StoreError) {
    try withState { guarded throws(StoreError) in
      guard let policy = guarded.store.access.policy else { return }
      let list = try guarded.store.accessList()
      guard StoreState.owners(in: list).isEmpty else { return }
      let entry = StoreState.AccessEntry(
        level: .owner, organization: policy.organization, user: policy.user)
      try guarded.store.put(entry, policy.record, list, limits: options.limits)
      try guarded.store.readAccess()
    }
  }
}

extension StoreState {
  /// What has to be written in the user's own record, too, when a role is given; nil for nothing.
  fileprivate func ownEntry(
    giving level: AccessLevel, to record: RecordName, _ list: [RecordName: AccessEntry]
  ) throws(StoreError) -> AccessEntry? {
    // In a local datastore there is nobody to be the owner yet.
    guard let policy = access.policy, level > .none else { return nil }
    let owners = StoreState.owners(in: list)
    let isOwner = owners.isEmpty || owners[policy.record] != nil
    let known = owners[policy.record]?.organization
    let isNew = isOwner && policy.organization != nil && known != policy.organization
    if record == AccessTable.team, !(isOwner && policy.organization != nil),
      !owners.values.contains(where: { $0.organization != nil })
    {
      throw StoreError(
        .invalidOperation,
        "the team is the organisation of the datastore's owner, which is not known: the owner has "
          + "to set an AccountInfo with an orgName first", id: record.text)
    }
    guard owners.isEmpty || isNew && record == AccessTable.team else { return nil }
    return AccessEntry(
      level: .owner, organization: policy.organization ?? known, user: policy.user)
  }

  /// Both records or, if it throws, none.
  fileprivate mutating func write(
    _ level: AccessLevel, _ record: RecordName, _ user: String?, own: AccessEntry?,
    _ list: [RecordName: AccessEntry], limits: Limits
  ) throws(StoreError) {
    guard level > .none else {
      if list[record] != nil { try delete(table(AccessTable.name), record) }
      return
    }
    let before = list[record]
    try put(AccessEntry(level: level, user: user), record, list, limits: limits)
    guard let own, let policy = access.policy else { return }
    do throws(StoreError) { try put(own, policy.record, list, limits: limits) } catch {
      if let before {
        try put(before, record, [record: before], limits: limits)
      } else {
        try delete(table(AccessTable.name), record)
      }
      throw error
    }
  }

  /// Writes an entry's fields; those that it has none of stay as they are.
  fileprivate mutating func put(
    _ entry: AccessEntry, _ record: RecordName, _ list: [RecordName: AccessEntry], limits: Limits
  ) throws(StoreError) {
    var fields: [FieldChange] = [(AccessTable.role, .int(entry.level.rawValue))]
    if let organization = entry.organization {
      fields.append((AccessTable.organization, .string(organization)))
    }
    if let user = entry.user { fields.append((AccessTable.user, .string(user))) }
    let number = table(AccessTable.name)
    if list[record] == nil {
      try insert(number, record, count: fields.count, limits: limits) { fields[$0] }
    } else {
      try update(number, record, fields, limits: limits)
    }
  }
}
