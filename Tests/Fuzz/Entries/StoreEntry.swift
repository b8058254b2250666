import CairnBytes
import CairnDisk
import CairnMerge
import CairnStore
import TestSupport

/// Steps of one store's life, two bytes each, beside a dictionary: changes, commits, roll-backs,
/// faults of the disk at a counted call, power cuts, compactions.
struct StoreEntry {
  private typealias Content = [String: [String: FieldValue]]

  private var bench: StoreBench
  private var store: Store
  private var committed: Content = [:]
  private var pending: Content = [:]
  /// What commits that failed would have left: whether one has is known when the store is opened
  /// again.
  private var possible: [Content] = []
  private static let options = {
    var options = StoreBench.options
    options.durability = .full
    options.segmentBytes = 600
    return options
  }()

  static func run(_ bytes: [UInt8]) throws {
    var entry = try StoreEntry()
    var index = 0
    while index + 1 < min(bytes.count, 96) {
      try entry.step(bytes[index], bytes[index + 1])
      index += 2
    }
    try entry.finish()
  }

  private init() throws {
    bench = StoreBench()
    store = try bench.open(options: Self.options)
  }

  private mutating func step(_ verb: UInt8, _ operand: UInt8) throws {
    let id = "r\(operand & 7)"
    let value: FieldValue =
      operand & 64 == 0 ? .int(Int64(operand)) : .string(String(repeating: "x", count: 40))
    let field = operand & 8 == 0 ? "a" : "b"
    switch verb % 12 {
    case 0, 1:
      change { store throws(StoreError) in
        try store.insert(table: "t", id: RecordName(id), [(field, value)])
      } model: { $0[id] = [field: value] }
    case 2, 3:
      change { store throws(StoreError) in
        try store.update(table: "t", id: RecordName(id), [(field, value)])
      } model: { $0[id]?[field] = value }
    case 4:
      change { store throws(StoreError) in
        try store.delete(table: "t", id: RecordName(id))
      } model: { $0[id] = nil }
    case 5:
      // What a failed commit left in memory is nobody's promise.
      if possible.isEmpty, (try? store.rollBack()) != nil { pending = committed }
    case 6, 7: sync()
    case 8: try reopen()
    case 9:
      if (try? store.compact()) == nil { try reopen() }
    case 10:
      bench.disk.failAt(
        operation: bench.disk.operations + 1 + Int(operand >> 3),
        reason: operand & 1 == 0 ? .io(errno: 5) : .noSpace, forever: operand & 2 != 0)
    default: try crash(operand)
    }
  }

  private mutating func change(
    _ body: (Store) throws(StoreError) -> Void, model: (inout Content) -> Void
  ) {
    // What is refused changes nothing.
    guard (try? body(store)) != nil else { return }
    model(&pending)
  }

  private mutating func sync() {
    if (try? store.sync()) != nil {
      committed = pending
      possible = []
    } else {
      possible.append(pending)
    }
  }

  private mutating func reopen() throws {
    bench.disk.heal()
    try? store.close()
    try open()
  }

  private mutating func crash(_ operand: UInt8) throws {
    let model: CrashModel =
      switch operand & 3 {
      case 0: .nothingUnsynced
      case 1: .everything
      case 2: .subset(UInt64(operand >> 2))
      default: .torn(UInt64(operand >> 2))
      }
    bench = StoreBench(bench.disk.crash(keep: model))
    try open()
  }

  /// What is there must be what was committed, or that and the commit that failed.
  private mutating func open() throws {
    do { store = try bench.open(options: Self.options) } catch {
      throw FuzzFinding("a store that nobody has damaged can't be opened: \(error)")
    }
    let found = try content()
    try FuzzFinding.check(
      found == committed || possible.contains(found),
      "there is \(found), committed was \(committed), possible \(possible)")
    committed = found
    pending = found
    possible = []
  }

  private func content() throws -> Content {
    var content: Content = [:]
    for id in try store.query(table: "t", []) {
      var fields: [String: FieldValue] = [:]
      for (name, value) in try store.fields(table: "t", id: id) ?? [] { fields[name] = value }
      content[id.text] = fields
    }
    return content
  }

  private mutating func finish() throws {
    bench.disk.heal()
    try reopen()
    try store.close()
    try FuzzFinding.check(
      bench.disk.openFiles == 0 && bench.disk.heldLocks == 0, "files are open after all was closed")
  }
}
