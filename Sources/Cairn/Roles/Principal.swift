internal import CairnBytes
internal import CairnMerge
internal import CairnStore

/// Who is given a role.
@nonexhaustive
public enum Principal: Hashable, Sendable {
  /// Everybody in the organisation of the datastore's owner.
  case team
  /// Everybody who knows the datastore's id.
  case publicAccess
  /// One user, by `Account.user`.
  case user(String)
}

/// The records of `:acl`: `team`, `public`, and `u` with the user's id. Bytes other than letters,
/// digits and `. _ + -` are `=` and two hexadecimal digits; ids that would become too long are `u/`
/// and a hash, with the id in a field.
extension Principal {
  private static let hashPrefix = AccessTable.userPrefix + "/"

  var record: RecordName {
    get throws(CairnError) {
      switch self {
      case .team: return AccessTable.team
      case .publicAccess: return AccessTable.everybody
      case .user(let id):
        guard !id.isEmpty else {
          throw CairnError(.illegalArgument, "a user without an id can't have a role")
        }
        return Principal.record(user: id)
      }
    }
  }

  static func record(user: String) -> RecordName {
    if let escaped = escaped(user) { return RecordName(escaped) }
    let hash = XXH3.hash128(Array(user.utf8))
    let high = UInt64(truncatingIfNeeded: hash >> 64)
    return RecordName(hashPrefix + Base64ID.encode(high, UInt64(truncatingIfNeeded: hash)))
  }

  /// The user's id, if the record's does not tell it.
  static func userField(_ user: String) -> String? { escaped(user) == nil ? user : nil }

  /// Nil if it would be too long.
  private static func escaped(_ user: String) -> String? {
    var name = AccessTable.userPrefix
    for byte in user.utf8 {
      if isPlain(byte) {
        name.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        name += byte < 16 ? "=0" : "="
        name += String(byte, radix: 16, uppercase: true)
      }
      if name.utf8.count > Identifier.maximumLength { return nil }
    }
    return name
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "+"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// Whose entry it is; nil for a record that is none of ours.
  init?(_ entry: Store.AccessEntry) {
    if entry.record == AccessTable.team {
      self = .team
    } else if entry.record == AccessTable.everybody {
      self = .publicAccess
    } else if let user = entry.user ?? Principal.unescaped(entry.record.text), !user.isEmpty,
      Principal.record(user: user) == entry.record
    {
      self = .user(user)
    } else {
      return nil
    }
  }

  private static func unescaped(_ name: String) -> String? {
    guard name.hasPrefix(AccessTable.userPrefix) else { return nil }
    let bytes = Array(name.utf8.dropFirst())
    var user: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "=") {
        guard index + 2 < bytes.count,
          let digits = String(validating: bytes[(index + 1)...(index + 2)], as: UTF8.self),
          let byte = UInt8(digits, radix: 16)
        else { return nil }
        user.append(byte)
        index += 3
      } else {
        user.append(bytes[index])
        index += 1
      }
    }
    return String(validating: user, as: UTF8.self)
  }
}
