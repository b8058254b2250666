import CairnBytes
import CairnDisk
import CairnFuzzBytes
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
  /// again. What such a one has left is shown then, and may still go with the power, until the next
  /// commit.
  private var possible: [Content] = []
  /// What is there without what is pending; nil after a commit that failed.
  private var shown: Content? = [:]
  private static let options = {
    var options = StoreBench.options
    options.durability = .full
    options.segmentBytes = 600
    return options
  }()

  /// What was done, and how it went, if somebody wants to know.
  private var trace: [String]?

  static func run(_ bytes: [UInt8]) throws {
    do { try run(bytes, traced: false) } catch {
      // Once more, to say how it came to that.
      try run(bytes, traced: true)
      throw error
    }
  }

  private static func run(_ bytes: [UInt8], traced: Bool) throws {
    var entry = try StoreEntry(traced)
    do {
      var index = 0
      while index + 1 < min(bytes.count, 96) {
        entry.trace?.append("step \(index / 2):")
        try entry.step(bytes[index], bytes[index + 1])
        index += 2
      }
      entry.trace?.append("end:")
      try entry.finish()
    } catch {
      guard let trace = entry.trace else { throw error }
      throw FuzzFinding("\(error), after \(trace.joined(separator: " "))")
    }
  }

  private init(_ traced: Bool) throws {
    if traced { trace = [] }
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
      if let shown, (try? store.rollBack()) != nil {
        trace?.append("rolled back")
        pending = shown
      }
    case 6, 7: sync()
    case 8: try reopen()
    case 9:
      do {
        _ = try store.compact()
        trace?.append("compacted")
      } catch {
        trace?.append("not compacted (\(error))")
        try reopen()
      }
    case 10:
      trace?.append("the disk is to fail")
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
    trace?.append("changed")
    model(&pending)
  }

  private mutating func sync() {
    do {
      try store.sync()
      trace?.append("committed")
      committed = pending
      shown = pending
      possible = []
    } catch {
      trace?.append("not committed (\(error))")
      possible.append(pending)
      shown = nil
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
    trace?.append("crash (\(model))")
    bench = StoreBench(bench.disk.crash(keep: model))
    try open()
  }

  /// What is there must be what was committed, or that and a commit that failed.
  private mutating func open() throws {
    trace?.append("open")
    do { store = try bench.open(options: Self.options) } catch {
      throw FuzzFinding("a store that nobody has damaged can't be opened: \(error)")
    }
    let found = try content()
    try FuzzFinding.check(
      found == committed || possible.contains(found),
      "there is \(found), committed was \(committed), possible \(possible)")
    pending = found
    shown = found
    possible = found == committed ? [] : [found]
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
