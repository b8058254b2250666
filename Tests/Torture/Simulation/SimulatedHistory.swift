import CairnLog
import CairnMerge
import TestSupport

/// Every delta that was ever published, as the naive reference wants it: read from what devices
/// put into the folder, before anything happens to it there.
struct SimulatedHistory {
  struct Delta {
    var stamp: Stamp
    var context: VersionVector
    /// By table and record, in the delta's order.
    var parts: [(table: String, record: String, part: ReferenceFields.Part)]
    var digest: UInt64
  }

  /// Two devices may have one name.
  var mayFork = false
  private(set) var isForked = false
  private(set) var deltas: [Dot: Delta] = [:]
  /// In the order in which they were published.
  private var order: [Dot] = []
  /// What the deltas say, for people, if somebody listens.
  var tell: ((String) -> Void)?
  /// How far each device has published.
  private(set) var vector = VersionVector()

  /// Takes a segment apart; returns its last sequence.
  mutating func add(_ bytes: [UInt8], _ path: String, _ datastore: UInt128) throws -> UInt64 {
    let segment = try PublishedSegment(bytes, name: path, datastore: datastore)
    var reader = try PackReader(segment.pack)
    var delta = CairnMerge.Delta()
    while try reader.next(into: &delta) { try add(delta, reader) }
    return segment.last
  }

  private mutating func add(_ delta: CairnMerge.Delta, _ reader: PackReader) throws {
    let dot = delta.dot
    var context = VersionVector()
    if dot.sequence > 1 {
      guard let last = deltas[Dot(device: dot.device, sequence: dot.sequence - 1)] else {
        if mayFork { return isForked = true }
        throw TortureFailure("\(dot) is published before the one before it")
      }
      context = last.context
    }
    for dependency in delta.dependencies { context.insert(dependency) }
    context.insert(dot)
    let meaning = try SimulatedMeaning(delta, reader, context)
    if let known = deltas[dot] {
      if known.digest != meaning.digest {
        guard mayFork else {
          throw TortureFailure("two different deltas are published as \(dot)")
        }
        isForked = true
      }
      return
    }
    tell?("  \(dot) after \(context): " + meaning.lines.joined(separator: "; "))
    deltas[dot] = Delta(
      stamp: meaning.stamp, context: context, parts: meaning.parts, digest: meaning.digest)
    order.append(dot)
    vector.insert(dot)
  }

  // MARK: the reference

  /// What a device has to show that has seen these deltas.
  func content(seen: VersionVector) -> SimulatedContent {
    var records: [String: [String: [ReferenceFields.Part]]] = [:]
    for dot in order where seen.contains(dot) {
      for (table, record, part) in deltas[dot]?.parts ?? [] {
        records[table, default: [:]][record, default: []].append(part)
      }
    }
    var content = SimulatedContent()
    add(records, SimulatedContent.rules, seen, to: &content) { _ in .local }
    let rules = content.tables[SimulatedContent.rules] ?? [:]
    // Cuts are nobody's data.
    for table in records.keys.sorted() where ![SimulatedContent.rules, ":cuts"].contains(table) {
      add(records, table, seen, to: &content) { field in
        Self.rule(rules[table]?[field] ?? rules[":default"]?[":rule"])
      }
    }
    return content
  }

  private func add(
    _ records: [String: [String: [ReferenceFields.Part]]], _ table: String, _ seen: VersionVector,
    to content: inout SimulatedContent, _ rule: (String) -> Rule
  ) {
    for (record, parts) in records[table] ?? [:] {
      var names: Set<String> = []
      for part in parts {
        names.formUnion(part.edits.keys)
        for step in part.delta.steps {
          if case .set(let field, _, _) = step.intent { names.insert(field) }
        }
      }
      let view = ReferenceFields(parts).view(record, names.sorted(), seen: seen)
      guard view.exists else { continue }
      var fields: [String: FieldValue] = [:]
      for name in names { fields[name] = view.visible(name, rule: rule(name)) }
      content[table, record] = fields
    }
  }

  private static func rule(_ value: FieldValue?) -> Rule {
    guard case .int(let code) = value else { return .remote }
    return UInt8(exactly: code).flatMap(Rule.init(rawValue:)) ?? .remote
  }
}
