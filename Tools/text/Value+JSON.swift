package import Cairn

/// How values are written in JSON. What JSON has no type for is an object with one member:
/// `{"$date": milliseconds since 1970}`, `{"$bytes": "base 64"}`, `{"$double": "nan"}` (or `inf`,
/// `-inf`) and `{"$attachment": "SHA-256-length"}`. A field's name can't hold a dollar, so nothing
/// else looks like these.
extension Value {
  package var json: JSON {
    switch self {
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .double(let value) where value.isNaN: ["$double": "nan"]
    case .double(let value) where value.isInfinite: ["$double": value > 0 ? "inf" : "-inf"]
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .bytes(let value): ["$bytes": .string(Base64.encode(value))]
    case .date(let value): ["$date": .int(value.millisecondsSince1970)]
    case .list(let items): .array(items.map(\.json))
    case .attachment(let id): ["$attachment": .string(id.description)]
    }
  }

  /// Nil for null. Throws a sentence for what no field can hold.
  package static func from(_ json: JSON) throws(ValueProblem) -> Value? {
    switch json {
    case .null: return nil
    case .array(let items):
      var list: [Value] = []
      for item in items {
        if case .array = item { throw ValueProblem("a list can't hold a list") }
        guard let value = try from(item) else { throw ValueProblem("a list can't hold null") }
        list.append(value)
      }
      return .list(list)
    case .object(let members): return try tagged(members)
    case .bool(let value): return .bool(value)
    case .int(let value): return .int(value)
    case .double(let value): return .double(value)
    case .string(let value): return .string(value)
    }
  }

  private static func tagged(_ members: [JSON.Member]) throws(ValueProblem) -> Value {
    guard members.count == 1, let member = members.first, member.name.hasPrefix("$") else {
      throw ValueProblem("a field can't hold an object")
    }
    switch (member.name, member.value) {
    case ("$date", .int(let milliseconds)):
      return .date(Timestamp(millisecondsSince1970: milliseconds))
    case ("$bytes", .string(let text)):
      guard let bytes = Base64.decode(text) else { throw ValueProblem("this isn't base 64") }
      return .bytes(bytes)
    case ("$attachment", .string(let text)):
      guard let id = AttachmentID(text) else {
        throw ValueProblem("this isn't an attachment: SHA-256 in 64 digits, a dash, its length")
      }
      return .attachment(id)
    case ("$double", .string("nan")): return .double(.nan)
    case ("$double", .string("inf")): return .double(.infinity)
    case ("$double", .string("-inf")): return .double(-.infinity)
    default:
      throw ValueProblem(
        "neither {\"$date\": integer} nor {\"$bytes\": text} nor {\"$double\": text} nor "
          + "{\"$attachment\": text}")
    }
  }
}

/// Why something can't be the value of a field.
package struct ValueProblem: Error {
  package var message: String

  package init(_ message: String) { self.message = message }
}
