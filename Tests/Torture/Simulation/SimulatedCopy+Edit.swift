import Cairn
import CairnMerge
import CairnStore
import TestSupport

/// Local changes, each made twice: in the real datastore, and in what it has to show.
extension SimulatedCopy {
  static let tables = ["t", "u"]
  static let fields = ["a", "b", "n", "s", "l"]

  /// One to three changes.
  func edit(_ profile: SimulationProfile, _ random: SeededRandom) throws {
    guard let datastore else { return }
    for _ in 0..<(1 + random.below(3)) {
      try regainSight()
      countEdit()
      var after = memory.shown
      let table = random.below(4) == 0 ? "u" : "t"
      let isHot = random.below(100) < profile.heat
      let number = random.below(isHot ? min(3, profile.records) : profile.records)
      let id = Self.name(number)
      do {
        try change(datastore, table, id, &after, random)
      } catch let error as CairnError {
        try settle(error, datastore, table, id)
        continue
      }
      device.note(" edited: \(after.differences(from: memory.shown))")
      try accept(after, datastore.core, table, id)
    }
  }

  /// Deletes most of what is in the first table; others may not believe it.
  func deleteMany(_ random: SeededRandom) throws {
    guard let datastore else { return }
    try regainSight()
    // A device without sight of what is there deletes nothing.
    if hasLostSight { return }
    for id in (memory.shown.tables["t"] ?? [:]).keys.sorted() where random.below(8) > 0 {
      countEdit()
      var after = memory.shown
      after["t", id] = nil
      do { try datastore.table("t")[RecordID(id)].delete() } catch {
        try settle(error, datastore, "t", id)
        continue
      }
      try accept(after, datastore.core, "t", id)
    }
    try commit()
  }

  /// Some ids are kept in another form than as texts.
  private static func name(_ number: Int) -> String {
    if number % 5 != 4 { return "r\(number)" }
    return RecordID(bits: 7, UInt64(number)).description
  }

  /// A change that failed has changed nothing.
  private func settle(
    _ error: CairnError, _ datastore: Datastore, _ table: String, _ id: String
  ) throws {
    if error.code == .sizeLimit {
      countLimit()
    } else {
      try excuse(error, "edit")
    }
    try accept(memory.shown, datastore.core, table, id)
  }

  /// The record reads as it must.
  private func accept(
    _ after: SimulatedContent, _ store: Store, _ table: String, _ id: String
  ) throws {
    do {
      let found = try SimulatedContent.fields(store, table, RecordName(id))
      if hasLostSight { return }
      try demand(
        found == after[table, id],
        "\(table)/\(id) reads \(String(describing: found)), not "
          + String(describing: after[table, id]))
      try demand(store.totals.size == after.size, "the size is \(store.totals.size)")
    } catch let error as StoreError {
      try demand(isSick, "\(table)/\(id) can't be read: \(error)")
    }
    memory.shown = after
  }

  private func change(
    _ datastore: Datastore, _ table: String, _ id: String, _ after: inout SimulatedContent,
    _ random: SeededRandom
  ) throws {
    let kind = random.below(100)
    if kind == 0 { return try setTitle(datastore, &after, random) }
    if kind < 3 { return try setRule(datastore, table, &after, random) }
    let place = try datastore.table(table)
    guard let old = after[table, id] else {
      let fields = changes(atLeast: 0, random).compactMapValues { $0 }
      after[table, id] = fields
      try place.insert(fields: fields.mapValues(\.asValue), id: RecordID(id))
      return
    }
    let record = place[RecordID(id)]
    if kind < 14 {
      after[table, id] = nil
      try record.delete()
      memory.shown = after
      if random.coin() {
        let fields = changes(atLeast: 0, random).compactMapValues { $0 }
        after[table, id] = fields
        try place.insert(fields: fields.mapValues(\.asValue), id: RecordID(id))
      }
      return
    }
    if kind < 40, Self.isList(old["l"]) {
      var items = Self.items(old["l"])
      try editList(record.list("l"), &items, random)
      after[table, id]?["l"] = .list(items)
      return
    }
    let changes = changes(atLeast: 1, random)
    var new = old
    for (field, value) in changes { new[field] = value }
    after[table, id] = new
    try record.update(changes.mapValues { $0?.asValue })
  }

  private static func isList(_ value: FieldValue?) -> Bool {
    switch value {
    case nil, .list: true
    default: false
    }
  }

  private static func items(_ value: FieldValue?) -> [FieldValue] {
    if case .list(let items) = value { items } else { [] }
  }

  private func editList(
    _ list: RecordList, _ items: inout [FieldValue], _ random: SeededRandom
  ) throws {
    let count = items.count
    switch count == 0 ? 0 : random.below(10) {
    case 0, 1, 2:
      let (index, value) = (random.below(count + 1), item(random))
      try list.insert(value.asValue, at: index)
      items.insert(value, at: index)
    case 3:
      let index = random.below(count + 1)
      let values = (0..<(1 + random.below(4))).map { _ in item(random) }
      try list.insert(contentsOf: values.map(\.asValue), at: index)
      items.insert(contentsOf: values, at: index)
    case 4, 5:
      let index = random.below(count)
      try list.remove(at: index)
      items.remove(at: index)
    case 6, 7:
      let (index, value) = (random.below(count), item(random))
      try list.replace(at: index, with: value.asValue)
      items[index] = value
    default:
      let (source, target) = (random.below(count), random.below(count))
      try list.move(from: source, to: target)
      items.insert(items.remove(at: source), at: target)
    }
  }

  private func setTitle(
    _ datastore: Datastore, _ after: inout SimulatedContent, _ random: SeededRandom
  ) throws {
    let title = random.below(4) == 0 ? nil : "title \(random.below(9))"
    let info = SimulatedContent.info
    if after[info, "info"] != nil {
      after[info, "info"]?["title"] = title.map(FieldValue.string)
    } else if let title {
      after[info, "info"] = ["title": .string(title)]
    }
    try datastore.setTitle(title)
  }

  /// A rule decides conflicts anew, so everything may look different after it.
  private func setRule(
    _ datastore: Datastore, _ table: String, _ after: inout SimulatedContent,
    _ random: SeededRandom
  ) throws {
    // Which list of several is shown must not depend on an edit of it.
    let rules: [ResolutionRule] = [.remote, .local, .sum, .max, .min]
    let field = Self.fields[random.below(4)]
    let rule = rules[random.below(5)]
    let book = SimulatedContent.rules
    if random.below(4) == 0 {
      let rule = rules[random.below(3)]
      try datastore.setDefaultRule(rule)
      after[book, ":default", default: [:]][":rule"] = .int(Self.code(rule))
    } else {
      try datastore.table(table).setRule(rule, field: field)
      after[book, table, default: [:]][field] = .int(Self.code(rule))
    }
    let now: SimulatedContent
    do { now = try SimulatedContent(datastore.core) } catch let error as StoreError {
      try demand(isSick, "it can't be read: \(error)")
      // What it shows is found out by opening it anew.
      hasLostSight = true
      return
    }
    try demand(
      now.tables[book] == after.tables[book],
      "a rule was set: \(now.differences(from: after))")
    after = now
  }

  private static func code(_ rule: ResolutionRule) -> Int64 {
    switch rule {
    case .local: 1
    case .max: 2
    case .min: 3
    case .sum: 4
    default: 0
    }
  }

  // MARK: values

  private func changes(atLeast least: Int, _ random: SeededRandom) -> [String: FieldValue?] {
    var result: [String: FieldValue?] = [:]
    for _ in 0..<(least + random.below(3)) {
      let field = Self.fields[random.below(5)]
      result.updateValue(value(field, random), forKey: field)
    }
    return result
  }

  private func item(_ random: SeededRandom) -> FieldValue {
    switch random.below(6) {
    case 0: .string(["", "é", "item \(random.below(9))"][random.below(3)])
    case 1: .double(Double(random.below(8)) / 4)
    case 2: .bytes(random.bytes(2))
    default: .int(Int64(random.below(90)))
    }
  }

  private func value(_ field: String, _ random: SeededRandom) -> FieldValue? {
    if field == "n" || field == "s", random.below(6) > 0 {
      return random.below(4) == 0
        ? .double(Double(random.below(40)) / 4) : .int(Int64(random.below(40)) - 9)
    }
    if field == "l", random.below(6) > 0 {
      return .list((0..<random.below(5)).map { _ in item(random) })
    }
    switch random.below(13) {
    case 0, 1: return nil
    case 2: return .bool(random.coin())
    case 3: return .double([.nan, -0.0, 0.0, .infinity, 1, 0.1][random.below(6)])
    case 4:
      return .string(["", "x", "naïve", String(repeating: "long", count: 60)][random.below(4)])
    case 5: return .bytes(random.bytes(random.below(40)))
    case 6: return .date(Int64(random.below(1 << 40)))
    case 7: return .list((0..<random.below(4)).map { _ in item(random) })
    case 8: return .int([Int64.max, .min, 1][random.below(3)])
    case 9: return .string("some text \(random.below(1000)), some text")
    default: return .int(Int64(random.below(9)))
    }
  }
}

extension SimulatedContent {
  fileprivate subscript(
    table: String, id: String, default fallback: [String: FieldValue]
  ) -> [String: FieldValue] {
    get { self[table, id] ?? fallback }
    set { self[table, id] = newValue }
  }
}
