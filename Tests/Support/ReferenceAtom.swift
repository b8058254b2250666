package import CairnMerge

/// One piece of content that some delta of a history wrote.
package struct ReferenceAtom: Sendable {
  package enum Kind: Sendable {
    case presence
    case put(field: String, FieldValue?, contained: [DeviceID: ReferenceCount])
    case add(field: String, result: FieldValue, ReferenceCount, since: UInt64)
  }

  package var record: String
  package var stamp: Stamp
  package var context: VersionVector
  package var born: Set<Dot>
  package var kind: Kind

  var dot: Dot { stamp.dot }

  func writes(_ field: String) -> Bool {
    switch kind {
    case .presence: false
    case .put(let name, _, _), .add(let name, _, _, _): name == field
    }
  }

  var isPut: Bool { if case .put = kind { true } else { false } }
  var isAdd: Bool { if case .add = kind { true } else { false } }
  var isPresence: Bool { if case .presence = kind { true } else { false } }

  var value: FieldValue? {
    switch kind {
    case .presence: nil
    case .put(_, let value, _): value
    case .add(_, let result, _, _): result
    }
  }
}

/// How far a device's additions had come with its delta `last`.
package struct ReferenceCount: Hashable, Sendable {
  package var last: UInt64
  package var total: Number
}

/// A delete of a record in a history.
package struct ReferenceDelete: Sendable {
  package var record: String
  package var dot: Dot
  package var context: VersionVector

  /// The rule of MERGE.md, word for word.
  func kills(_ atom: ReferenceAtom) -> Bool {
    !atom.context.contains(dot) && atom.born.allSatisfy(context.contains)
  }
}
