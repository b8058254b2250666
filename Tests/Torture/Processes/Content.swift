import Cairn

/// What one writer's commits do: commit `n` changes a few records in a way that follows from the
/// seed and `n` alone, so that what must be there after any number of commits can be said at once.
struct Content: Sendable, Hashable {
  /// Names the tables, so that several writers share a datastore.
  var writer: String
  var seed: UInt64
  /// Longest text, in bytes.
  var payload: Int

  private static let slotCount = 48
  private static let listMax = 40
  private static let fieldNames = ["n", "text", "bytes", "number", "flag", "tags"]
  private static let head = RecordID("head")
  private static let list = RecordID("list")

  private func word(_ n: Int, _ salt: Int) -> UInt64 {
    var word = seed &+ UInt64(n) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(salt) &* 0xD1B5_4A32_D192_ED03
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  private func table(_ datastore: Datastore, _ slot: Int) throws(CairnError) -> Table {
    try datastore.table("\(writer).\(slot % 3)")
  }

  private func id(_ slot: Int) -> RecordID { RecordID("slot\(slot)") }

  /// The slots that a commit changes: one in turn, and up to three others.
  private func slots(of n: Int) -> [Int] {
    var slots = [n % Content.slotCount]
    for index in 0..<Int(word(n, 1) % 4) {
      let slot = Int(word(n, 2 + index) % UInt64(Content.slotCount))
      if !slots.contains(slot) { slots.append(slot) }
    }
    return slots
  }

  /// What a commit leaves in a slot, nil if it deletes what is there.
  private func fields(_ slot: Int, of n: Int) -> [String: Value]? {
    let kind = word(n, 100 + slot)
    if kind % 8 == 0 { return nil }
    var fields: [String: Value] = ["n": .int(Int64(n))]
    var text = ""
    let length = payload == 0 ? 0 : Int(kind >> 8) % payload
    var part = 0
    while text.utf8.count < length {
      text += String(word(n, 1000 + slot * 100 + part), radix: 36)
      part += 1
    }
    fields["text"] = .string(text)
    if kind & 16 != 0 { fields["bytes"] = .bytes([UInt8(truncatingIfNeeded: kind), 0, 255]) }
    if kind & 32 != 0 { fields["number"] = .double(Double(kind % 10000) / 100) }
    if kind & 64 != 0 { fields["flag"] = .bool(kind & 128 != 0) }
    if kind & 256 != 0 { fields["tags"] = .list([.int(Int64(n)), .string("x")]) }
    return fields
  }

  // MARK: writing

  /// Makes the changes of commit `n`, on top of those before.
  func apply(_ n: Int, to datastore: Datastore) throws(CairnError) {
    let first = try table(datastore, 0)
    if n == 1 { try first.setRule(.sum, field: "count") }
    let (head, isNew) = try first.getOrInsert(
      Content.head, fields: ["n": .int(Int64(n)), "count": .int(Int64(n))])
    if !isNew { try head.update(["n": .int(Int64(n)), "count": .int(Int64(n))]) }
    for slot in slots(of: n) { try apply(n, slot, datastore) }
    let (record, _) = try first.getOrInsert(Content.list)
    let list = try record.list("items")
    try list.append(.int(Int64(n)))
    if list.count > Content.listMax { try list.remove(at: 0) }
    if n % 5 == 0 { try list.replace(at: 0, with: .int(-Int64(max(1, n - Content.listMax + 1)))) }
  }

  private func apply(_ n: Int, _ slot: Int, _ datastore: Datastore) throws(CairnError) {
    let table = try table(datastore, slot)
    let record = try table.record(id(slot))
    guard let fields = fields(slot, of: n) else {
      try record?.delete()
      return
    }
    guard let record else {
      try table.insert(fields: fields, id: id(slot))
      return
    }
    var changes: [String: Value?] = [:]
    for name in Content.fieldNames { changes.updateValue(fields[name], forKey: name) }
    try record.update(changes)
  }

  // MARK: checking

  /// The number of the last commit that is there; 0 if there is none.
  func standing(_ datastore: Datastore) throws(CairnError) -> Int {
    guard let head = try table(datastore, 0).record(Content.head) else { return 0 }
    return Int(try head.int("n") ?? 0)
  }

  /// Compares everything with what the last commit that is there must have left. Returns its
  /// number.
  func check(_ datastore: Datastore) throws -> Int {
    let n = try standing(datastore)
    let first = try table(datastore, 0)
    var expected = [0, 0, 0]
    for slot in 0..<Content.slotCount {
      let wanted = state(slot, after: n)
      let found = try table(datastore, slot).record(id(slot))?.fields
      guard wanted == found else { throw wrong(n, "slot \(slot)", wanted, found) }
      if wanted != nil { expected[slot % 3] += 1 }
    }
    if n > 0 {
      let head = try first.record(Content.head)?.fields
      let wanted: [String: Value] = ["n": .int(Int64(n)), "count": .int(Int64(n))]
      guard head == wanted else { throw wrong(n, "head", wanted, head) }
      let list = try first.record(Content.list)?.fields
      guard list == ["items": .list(items(after: n))] else {
        throw wrong(n, "list", ["items": .list(items(after: n))], list)
      }
      expected[0] += 2
    }
    for slot in 0..<3 {
      let count = try table(datastore, slot).count
      guard count == expected[slot] else {
        throw TortureFailure(
          "writer \(writer) after commit \(n): table \(slot) has \(count) records, not "
            + "\(expected[slot])")
      }
    }
    return n
  }

  private func state(_ slot: Int, after n: Int) -> [String: Value]? {
    var commit = n
    while commit > 0, commit > n - Content.slotCount {
      if slots(of: commit).contains(slot) { return fields(slot, of: commit) }
      commit -= 1
    }
    return nil
  }

  private func items(after n: Int) -> [Value] {
    (max(1, n - Content.listMax + 1)...n).map { item in
      // Negative once it was the first while a commit that 5 divides went by.
      let whenFirst = item == 1 ? min(n, Content.listMax) / 5 * 5 : item + Content.listMax - 1
      let isReplaced = whenFirst > 0 && whenFirst <= n && whenFirst % 5 == 0
      return .int(Int64(isReplaced ? -item : item))
    }
  }

  private func wrong(
    _ n: Int, _ what: String, _ wanted: [String: Value]?, _ found: [String: Value]?
  ) -> TortureFailure {
    func text(_ fields: [String: Value]?) -> String {
      guard let fields else { return "nothing" }
      return fields.sorted { $0.key < $1.key }.map { "\($0.key)=\("\($0.value)".prefix(60))" }
        .joined(separator: " ")
    }
    return TortureFailure(
      "writer \(writer) after commit \(n): \(what) is \(text(found)), not \(text(wanted))")
  }
}
