import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Lists in real stores: every edit does to the list what it does to an array, sizes are exact,
/// and stores that have the same deltas show the same and write the same snapshots, whatever
/// happened on the way.
@Suite struct ListStoreTests {
  private final class Run {
    let random: SeededRandom
    let devices: [StoreDevice]
    let ids = ["r", "s"].map(RecordName.init)
    var packs: [[[UInt8]]]
    var packed: [UInt64]
    /// Whether edits are made, and mostly committed, one by one, as somebody types.
    var isTyping = false
    /// What has happened, for whoever has to find out what went wrong.
    var trace: [String] = []

    init(seed: UInt64, devices count: Int, isLinked: Bool) throws {
      random = SeededRandom(seed)
      packs = Array(repeating: [], count: count)
      packed = Array(repeating: 0, count: count)
      let random = random
      devices = try (0..<count).map { number in
        try StoreDevice(
          seed &* 77 + UInt64(number), isLinked: isLinked,
          time: 1_000_000 + Int64(random.below(4)) * 5
        ) {
          $0.segmentBytes = random.coin() ? 600 : 8 << 20
          $0.cacheBytes = random.coin() ? 0 : 64 << 20
        }
      }
    }

    func act() throws {
      let number = random.below(devices.count)
      let device = devices[number]
      defer { trace.append("\(number) size \(device.store.totals.size)") }
      device.clock.advance(by: Int64(random.below(3)))
      switch random.below(40) {
      case 0...21:
        try edit(number)
        if isTyping, random.below(4) > 0 { try commit(number) }
      case 22...28: try commit(number)
      case 29...33: try receive(number)
      case 34:
        trace.append("\(number) compacts")
        _ = try device.store.compact()
      case 35:
        trace.append("\(number) reopens")
        try device.reopen()
        try check(number)
      case 36:
        trace.append("\(number) crashes")
        try device.crash(random.coin() ? .nothingUnsynced : .torn(random.next()))
      case 37:
        try commit(number)
        let before = try StoreContent(device.store)
        try edit(number)
        try edit(number)
        try whole(number)
        trace.append("\(number) rolls back")
        try device.store.rollBack()
        try demand(device.store.totals.pending == 0, "something is pending")
        try demand(try StoreContent(device.store) == before, "not what it was")
      default: try whole(number)
      }
      try check(number)
    }

    private func values(_ store: Store, _ id: RecordName) throws -> [FieldValue]? {
      let fields = try store.fields(table: "t", id: id) ?? []
      guard case .list(let items)? = fields.first(where: { $0.0 == "l" })?.1 else { return nil }
      return items
    }

    private func item() -> FieldValue {
      switch random.below(6) {
      case 0: .int(Int64(random.below(100)))
      case 1: .string(String(repeating: "long", count: random.below(5)))
      case 2: .double(0.5)
      default: .string(["a", "b", "é"][random.below(3)])
      }
    }

    private func edit(_ number: Int) throws {
      let store = devices[number].store
      let id = ids[random.below(2)]
      guard try store.exists(table: "t", id: id) else {
        try store.insert(table: "t", id: id, random.coin() ? [] : [("l", .list([.int(1)]))])
        return
      }
      for _ in 0...(isTyping ? 0 : random.below(4)) {
        var model = try values(store, id) ?? []
        let operation = operation(on: &model)
        try store.edit(table: "t", id: id, field: "l", operation)
        trace.append("\(number) \(id.text) \(operation)")
        let after = try values(store, id)
        // Of several lists one that grows may show instead of another.
        if [.max, .min].contains(store.rule(table: "t", field: "l")) { continue }
        try demand(after == model, "\(after ?? []) and not \(model)")
        let count = try store.listCount(table: "t", id: id, field: "l")
        try demand(count == model.count, "\(count ?? -1) items")
        if let last = model.indices.last {
          let found = try store.listItem(table: "t", id: id, field: "l", at: last)
          try demand(found == model[last], "the last item")
        }
      }
    }

    private func operation(on model: inout [FieldValue]) -> ListOperation {
      let count = model.count
      let value = item()
      if count == 0 || random.below(3) == 0 {
        let index = random.below(count + 1)
        if random.below(4) == 0 {
          model.insert(contentsOf: [value, value, .int(7)], at: index)
          return .insertAll([value, value, .int(7)], at: index)
        }
        model.insert(value, at: index)
        return .insert(value, at: index)
      }
      let index = random.below(count)
      switch random.below(4) {
      case 0:
        model.remove(at: index)
        return .remove(at: index)
      case 1:
        model[index] = value
        return .replace(at: index, value)
      case 2:
        let target = random.below(count)
        model.insert(model.remove(at: index), at: target)
        return .move(from: index, to: target)
      default:
        model.append(value)
        return .append(value)
      }
    }

    private func whole(_ number: Int) throws {
      let store = devices[number].store
      let id = ids[random.below(2)]
      if try !store.exists(table: "t", id: id) { return }
      let choice = random.below(6)
      trace.append("\(number) \(id.text) whole \(choice)")
      switch choice {
      case 0: try store.delete(table: "t", id: id)
      case 1: try store.update(table: "t", id: id, [("l", nil)])
      case 2: try store.update(table: "t", id: id, [("n", .int(Int64(random.below(9))))])
      case 3:
        let rule = Rule.allCases[random.below(Rule.allCases.count)]
        try store.setRule(rule, table: "t", field: "l")
      default: try store.update(table: "t", id: id, [("l", .list([item(), item()]))])
      }
    }

    func commit(_ number: Int) throws {
      let store = devices[number].store
      let dot = try store.sync().committed
      trace.append("\(number) commits \(dot.map { "\($0)" } ?? "nothing")")
      if !devices[number].isLinked { return }
      let pack = try store.pack(after: packed[number])
      packed[number] = store.vector[store.device]
      if !pack.isEmpty { packs[number].append(pack) }
    }

    private func receive(_ number: Int) throws {
      let other = random.below(devices.count)
      if other == number || packs[other].isEmpty { return }
      let start = random.below(packs[other].count)
      trace.append("\(number) receives from \(other) \(devices[other].id) \(start)")
      try devices[number].store.sync(packs: Array(packs[other][start...]))
    }

    func check(_ number: Int) throws {
      let store = devices[number].store
      let shown = try StoreContent(store)
      let totals = store.totals
      try demand(totals.size == shown.size, "\(totals.size), not \(shown.size)")
      try demand(totals.records == shown.recordCount, "\(totals.records) records")
    }

    func demand(_ holds: Bool, _ text: @autoclosure () -> String) throws {
      let story = trace.suffix(40).joined(separator: "\n")
      try Difference.demand(holds, text() + " after\n" + story.replacing("CairnMerge.", with: ""))
    }

    func meet() throws {
      for number in devices.indices { try commit(number) }
      for number in devices.indices {
        try devices[number].store.sync(packs: packs.flatMap { $0 })
        try check(number)
      }
      let first = try StoreContent(devices[0].store)
      for (number, device) in devices.enumerated() {
        let differences = try StoreContent(device.store).differences(from: first)
        try demand(differences.isEmpty, "\(number) shows \(differences)")
      }
      for device in devices { _ = try device.store.compact() }
      let snapshot = devices[0].snapshotBytes()
      for device in devices {
        try demand(
          device.snapshotBytes() == snapshot,
          "snapshots differ")
      }
      for device in devices { try device.reopen() }
      for device in devices { #expect(try StoreContent(device.store) == first) }
    }
  }

  @Test(arguments: 0..<30)
  func `edits do what they do to an array, and stores agree`(seed: UInt64) throws {
    let run = try Run(seed: seed, devices: 2 + Int(seed % 3), isLinked: true)
    for round in 0..<4 {
      for _ in 0..<40 { try run.act() }
      if round % 2 == 1 { try run.meet() }
    }
    try run.meet()
  }

  @Test(arguments: 0..<30)
  func `who commits every keystroke agrees with others`(seed: UInt64) throws {
    let run = try Run(seed: seed + 2000, devices: 1 + Int(seed % 3), isLinked: seed % 3 > 0)
    run.isTyping = true
    for _ in 0..<200 { try run.act() }
    if seed % 3 > 0 { return try run.meet() }
    try run.commit(0)
    let shown = try StoreContent(run.devices[0].store)
    try run.devices[0].reopen()
    #expect(try StoreContent(run.devices[0].store) == shown)
  }

  /// A list that is opened asks what was noted of its record's fields: right after these were set,
  /// or after those of all others.
  @Test(arguments: [false, true])
  func `many records get fields and an item of a list each in one commit`(isApart: Bool) throws {
    let device = try StoreDevice(9)
    let ids = (0..<300).map { "r\($0)" }
    for id in ids { try device.store.insert(id, ["n": 1, "l": .list(["x"])]) }
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    let before = try StoreContent(device.store)
    func append(_ id: String) throws {
      try device.store.edit(table: "t", id: RecordName(id), field: "l", .append("y"))
    }
    func change() throws {
      for id in ids {
        try device.store.set(id, ["n": 2, "new": "z"])
        if !isApart { try append(id) }
      }
      if isApart { for id in ids { try append(id) } }
    }
    try change()
    // A delta, and for each a change, two fields, one byte, a field, an item of one byte.
    #expect(device.store.totals.pending == 100 + 300 * (100 + 200 + 1 + 100 + 20 + 1))
    try device.store.rollBack()
    #expect(try StoreContent(device.store) == before && device.store.totals.size == before.size)
    try change()
    try device.store.sync()
    for isReopened in [false, true] {
      if isReopened { try device.reopen() }
      let content = try StoreContent(device.store)
      #expect(device.store.totals.size == content.size && content.recordCount == 300)
      for id in ids {
        #expect(try device.store.get(id) == ["n": 2, "new": "z", "l": .list(["x", "y"])])
      }
    }
  }

  @Test(arguments: 0..<20)
  func `a store that nobody else writes to keeps its lists`(seed: UInt64) throws {
    let run = try Run(seed: seed + 1000, devices: 1, isLinked: false)
    for _ in 0..<150 { try run.act() }
    try run.devices[0].store.sync()
    let shown = try StoreContent(run.devices[0].store)
    try run.devices[0].crash(.nothingUnsynced)
    #expect(try StoreContent(run.devices[0].store) == shown)
    _ = try run.devices[0].store.compact()
    try run.devices[0].reopen()
    #expect(try StoreContent(run.devices[0].store) == shown)
    try run.check(0)
  }
}
