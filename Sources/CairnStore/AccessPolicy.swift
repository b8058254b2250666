package import CairnMerge

/// Whose access counts: the user that a store was opened for.
package struct AccessPolicy: Equatable, Sendable {
  /// The user's own record in the list.
  package var record: RecordName
  /// The user's id, where the record's id is not enough to tell it.
  package var user: String?
  /// The user's organisation, nil if it is not known.
  package var organization: String?

  package init(record: RecordName, user: String?, organization: String?) {
    self.record = record
    self.user = user
    self.organization = organization
  }
}

/// Who may do what, as ordinary records of a reserved table.
package enum AccessTable {
  package static let name = ":acl"
  package static let team = RecordName("team")
  package static let everybody = RecordName("public")
  /// Ids of users' records begin so.
  package static let userPrefix = "u"
  /// Field: the level, an integer.
  package static let role = "role"
  /// Field of an owner's record: the organisation that `team` stands for.
  package static let organization = "org"
  /// Field of a user's record: the user's id, where the record's does not tell it.
  package static let user = "user"

  /// Whether it is the record of a user.
  static func isUser(_ id: RecordName) -> Bool { id.text.hasPrefix(userPrefix) }
}

/// What a store's user may do, worked out from the list.
struct Access {
  /// Nil: nobody is kept from anything.
  var policy: AccessPolicy?
  var level = AccessLevel.owner
  /// Asked before every change.
  var isWritable = true
  /// The datastore is somebody else's, which is followed here.
  var isFollowed = false

  static let followed = Access(level: .viewer, isWritable: false, isFollowed: true)
}
