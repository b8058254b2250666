internal import Cairn

extension Value {
  /// Whether it is the same to the last bit. Texts are equal in Swift if Unicode takes them for the
  /// same, composed or not, and so are 0.0 and -0.0; to whoever wrote a document they are not.
  func isExactly(_ other: Value) -> Bool {
    switch (self, other) {
    case (.string(let a), .string(let b)): a.isExactly(b)
    case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
    case (.list(let a), .list(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.isExactly($1) }
    default: self == other
    }
  }
}

extension String {
  /// Whether it has the same bytes.
  func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
