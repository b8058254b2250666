package import CairnBytes

/// What two copies of a device have in common, as far as what came after builds on it: up to which
/// delta, what the device had seen there, and what it had added to which fields.
package struct CommonBranch: Sendable {
  package let device: DeviceID
  /// The last delta that both have.
  package private(set) var last: UInt64 = 0
  /// When that one was made; nil if that is not known.
  package private(set) var time: Int64?
  /// What the device had seen of others when it made that one.
  package private(set) var context = VersionVector()
  /// The device's last additions.
  private(set) var additions: [FieldName: Run] = [:]
  /// Whether that is all of them: nobody has looked into the deltas otherwise.
  package private(set) var knowsAdditions = true

  /// A field of a record.
  package struct FieldName: Hashable {
    package var table: String
    package var record: RecordName
    package var field: String

    package init(table: String, record: RecordName, field: String) {
      self.table = table
      self.record = record
      self.field = field
    }
  }

  /// A run of additions, up to the delta `last`.
  struct Run {
    var since: UInt64
    var last: UInt64
    var total: Number
  }

  package init(_ device: DeviceID) { self.device = device }

  /// The branch of a device that keeps its name, since what it has published is nobody else's; or
  /// one whose deltas are not to be had.
  package init(_ device: DeviceID, through last: UInt64) {
    self.device = device
    self.last = last
    knowsAdditions = last == 0
  }

  /// Takes in deltas of a pack, as far as they come next and are not behind `end`.
  package mutating func add(pack: [UInt8], through end: UInt64) throws(DecodeError) {
    var reader = try PackReader(pack)
    var delta = Delta()
    while try reader.next(into: &delta) {
      guard delta.dot.device == device, delta.dot.sequence == last + 1, last < end else { continue }
      last += 1
      time = delta.time
      for dependency in delta.dependencies { context.insert(dependency) }
      noteRuns(of: delta, reader.records)
    }
  }

  /// Fields to which a pack of deltas behind these adds in a run that began among them.
  package func begunRuns(in pack: [UInt8]) throws(DecodeError) -> [FieldName] {
    var begun: [FieldName] = []
    var known: Set<FieldName> = []
    var reader = try PackReader(pack)
    var delta = Delta()
    while try reader.next(into: &delta) {
      guard delta.dot.device == device, delta.dot.sequence > last else { continue }
      delta.forEachAddition(reader.records) { name, addition in
        if addition.since <= last, known.insert(name).inserted { begun.append(name) }
      }
    }
    return begun
  }

  /// How far the device's additions to a field had come, as a state has it that was made of these
  /// deltas of it and no others.
  package mutating func note(_ total: Total, of name: FieldName) {
    guard total.device == device, total.stamp.dot.sequence <= last else { return }
    additions[name] = Run(
      since: total.since, last: total.stamp.dot.sequence, total: total.total)
  }

  /// Whether the device's last additions to a field are known.
  package func isNoted(_ name: FieldName) -> Bool { additions[name] != nil }

  /// The same from the deltas themselves, those in a pack that are among these.
  package mutating func noteRuns(in pack: [UInt8]) throws(DecodeError) {
    var reader = try PackReader(pack)
    var delta = Delta()
    while try reader.next(into: &delta) {
      guard delta.dot.device == device, delta.dot.sequence <= last else { continue }
      noteRuns(of: delta, reader.records)
    }
  }

  private mutating func noteRuns(of delta: Delta, _ names: [RecordName]) {
    delta.forEachAddition(names) { name, addition in
      additions[name] = Run(
        since: addition.since, last: delta.dot.sequence, total: addition.total)
    }
  }

  /// Whether it is known how far a run had come that began with the delta `since`. Where all are
  /// known, one that is not among them never began: the delta that says so is damaged.
  func knowsRun(_ since: UInt64, _ name: FieldName) -> Bool {
    since > last || additions[name]?.since == since
  }
}

extension Delta {
  func forEachAddition(
    _ names: [RecordName], _ body: (CommonBranch.FieldName, Addition) -> Void
  ) {
    if totals.isEmpty { return }
    for section in sections {
      for column in columns[section.columns] where column.operation == .add {
        for cell in column.cells {
          guard let addition = totals[cell] else { continue }
          body(fieldName(section, column, cell, names), addition)
        }
      }
    }
  }

  func fieldName(
    _ section: Section, _ column: Column, _ cell: Int, _ names: [RecordName]
  ) -> CommonBranch.FieldName {
    let reference = Int(records[Int(rows[cell])].reference)
    return CommonBranch.FieldName(
      table: section.table, record: names[reference], field: column.field)
  }
}
