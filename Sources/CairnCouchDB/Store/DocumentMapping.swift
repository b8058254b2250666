internal import Cairn

/// A document as fields of a record and a rest: nothing of it is lost, `json(...)` gives it back.
///
/// A member becomes a field of its name if that can name a field, the value is one that a field
/// holds (a boolean, an integer of 64 bits, a double, a text, a list of these), and there is room.
/// Everything else is in the *rest*, a JSON array with an item for each member, in their order: the
/// name of one that is a field, `[name, value]` of one that is not, or whose number is spelled in
/// another way than its field would be. The rest is left out if all members are fields in the order
/// of their names.
struct DocumentMapping {
  private(set) var fields: [(name: String, value: Value)] = []
  /// Nil if the fields say everything.
  private(set) var rest: [UInt8]?

  /// - Parameters:
  ///   - room: Bytes that fields may take, by the accounting of records.
  ///   - first: Members for which there is room first: those that queries are likely to name.
  init(_ document: JSONText, room: Int, first: [String]) throws(CairnError) {
    let members = try document.members()
    let held = try DocumentMapping.held(members, room: room, first: first)
    var items: [ArraySlice<UInt8>] = []
    var isPlain = true
    var last = ""
    for (index, member) in members.enumerated() {
      let name = member.name.string
      if let name, DocumentMapping.ofServer.contains(name) { continue }
      if let name, let value = held[index] {
        fields.append((name, value.value))
        if !last.isEmpty, !last.utf8.lexicographicallyPrecedes(name.utf8) { isPlain = false }
        last = name
        if value.isExact {
          items.append(member.name.spelling)
          continue
        }
      }
      isPlain = false
      items.append([0x5B] + member.name.spelling + [0x2C] + member.value.spelling + [0x5D])
    }
    if !isPlain { rest = [0x5B] + Array(items.joined(separator: [0x2C])) + [0x5D] }
  }

  /// Members that CouchDB makes.
  private static let ofServer: Set<String> = ["_id", "_rev", "_attachments", "_conflicts"]

  struct Held {
    var value: Value
    /// Whether the value can only have been spelled as it was.
    var isExact: Bool
  }

  /// Which members become fields, by their place.
  private static func held(
    _ members: [JSONText.Member], room: Int, first: [String]
  ) throws(CairnError) -> [Int: Held] {
    var held: [Int: Held] = [:]
    var names: Set<String> = []
    var room = room
    let order = members.indices.sorted { a, b in
      let (isFirst, isSecond) = (
        first.contains(members[a].name.string ?? ""), first.contains(members[b].name.string ?? "")
      )
      return isFirst == isSecond ? a < b : isFirst
    }
    for index in order {
      let member = members[index]
      guard let name = member.name.string, Table.isValidField(name), !name.hasPrefix(":"),
        !name.hasPrefix("_"), let value = try value(of: member.value, room: room)
      else { continue }
      let size = Limits.fieldBaseSize + value.value.size
      // Of twins the first is the field.
      if size > room || !names.insert(name).inserted { continue }
      room -= size
      held[index] = value
    }
    return held
  }

  /// Nil if no field can hold it, or there is no room: each item takes some.
  private static func value(of json: JSONText, room: Int) throws(CairnError) -> Held? {
    if let atom = atom(json) { return atom }
    guard json.isArray, let all = try json.items(atMost: max(0, room)) else { return nil }
    var items: [Value] = []
    var isExact = true
    for item in all {
      guard let atom = atom(item) else { return nil }
      items.append(atom.value)
      if !atom.isExact { isExact = false }
    }
    return Held(value: .list(items), isExact: isExact)
  }

  private static func atom(_ json: JSONText) -> Held? {
    if let text = json.string { return Held(value: .string(text), isExact: true) }
    if let value = json.bool { return Held(value: .bool(value), isExact: true) }
    if let value = json.int { return Held(value: .int(value), isExact: true) }
    guard let value = json.double else { return nil }
    return Held(value: .double(value), isExact: value.description == json.text)
  }
}

extension DocumentMapping {
  /// The members of a document between its braces, made of fields and rest.
  ///
  /// - Throws: `corrupt` if the rest is no such array, or a field that it names is not there.
  static func members(
    fields: [String: Value], rest: [UInt8]?
  ) throws(CairnError) -> [UInt8] {
    var out: [UInt8] = []
    func add(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
      if !out.isEmpty { out.append(0x2C) }
      out += name
      out.append(0x3A)
      out += value
    }
    guard let rest else {
      for name in fields.keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
        guard let value = fields[name], !name.hasPrefix(":") else { continue }
        add(JSONString.quoted(name).utf8Bytes, try spelling(value))
      }
      return out
    }
    let broken = CairnError(
      .corrupt,
      "the record of a document does not say what the document was; purge the database "
        + "and pull it again")
    for item in try JSONText(rest).items() {
      if let name = item.string {
        guard let value = fields[name] else { throw broken }
        add(item.spelling, try spelling(value))
      } else {
        let pair = try item.items()
        guard pair.count == 2, pair[0].isString else { throw broken }
        add(pair[0].spelling, pair[1].spelling)
      }
    }
    return out
  }

  private static func spelling(_ value: Value) throws(CairnError) -> ArraySlice<UInt8> {
    switch value {
    case .bool(let value): return (value ? "true" : "false").utf8Bytes
    case .int(let value): return String(value).utf8Bytes
    case .double(let value) where value.isFinite: return value.description.utf8Bytes
    case .string(let value): return JSONString.quoted(value).utf8Bytes
    case .list(let items):
      var texts: [ArraySlice<UInt8>] = []
      for item in items { texts.append(try spelling(item)) }
      return [0x5B] + texts.joined(separator: [0x2C]) + [0x5D]
    default:
      throw CairnError(
        .badType,
        "a record of a document holds a value that JSON has not; only this follower "
          + "should write there")
    }
  }
}

extension String {
  fileprivate var utf8Bytes: ArraySlice<UInt8> { Array(utf8)[...] }
}
