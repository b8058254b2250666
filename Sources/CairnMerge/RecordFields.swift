/// The fields of a record that have something to remember, sorted by name.
///
/// Records in conflict have a handful of fields, and their states are written in this order: an
/// array that is searched beats a dictionary, above all where one field is changed again and again.
package struct RecordFields: Hashable, Sendable {
  private var names: [String] = []
  private var registers: [Register] = []

  package init() {}

  package var isEmpty: Bool { names.isEmpty }
  package var count: Int { names.count }
  /// The names, ascending.
  package var keys: [String] { names }
  /// The registers, in the order of their names.
  package var values: [Register] { registers }

  /// Where a field is, or would have to be.
  private func place(_ field: String) -> (index: Int, isThere: Bool) {
    // One field is the rule where a text is typed, and to be equal is cheaper than to come before.
    if names.count == 1, names[0] == field { return (0, true) }
    guard let last = names.last, field <= last else { return (names.count, false) }
    var (low, high) = (0, names.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if names[middle] < field { low = middle + 1 } else { high = middle }
    }
    return (low, names[low] == field)
  }

  /// A field's register. To change it in its place use `update`.
  package subscript(field: String) -> Register? {
    get {
      let place = place(field)
      return place.isThere ? registers[place.index] : nil
    }
    set {
      let place = place(field)
      switch (place.isThere, newValue) {
      case (true, let register?): registers[place.index] = register
      case (false, let register?):
        names.insert(field, at: place.index)
        registers.insert(register, at: place.index)
      case (true, nil):
        names.remove(at: place.index)
        registers.remove(at: place.index)
      case (false, nil): break
      }
    }
  }

  /// Changes a field's register in its place; no effect if there is none.
  package mutating func update(_ field: String, _ change: (inout Register) -> Void) {
    let place = place(field)
    if place.isThere { change(&registers[place.index]) }
  }

  /// What is pending in a field's list, as an edit; nothing is pending any more if that says
  /// nothing. Without closures, which would copy the edit.
  package mutating func collectList(
    _ field: String, root: Dot, into edit: inout ListEdit
  ) -> Bool {
    let place = place(field)
    return place.isThere && registers[place.index].collectList(root: root, into: &edit)
  }

  /// What was collected is committed.
  package mutating func commitList(
    _ field: String, root: Dot, _ edit: ListEdit, stamp: Stamp, context: VersionVector
  ) {
    let place = place(field)
    if place.isThere {
      registers[place.index].commitList(root: root, edit, stamp: stamp, context: context)
    }
  }

  /// Those that fulfil a condition.
  package func filter(_ isIncluded: (Element) -> Bool) -> RecordFields {
    var result = RecordFields()
    for (name, register) in self where isIncluded((name, register)) { result[name] = register }
    return result
  }
}

extension RecordFields: Sequence {
  package typealias Element = (key: String, value: Register)

  package func makeIterator() -> AnyIterator<Element> {
    var index = 0
    return AnyIterator {
      guard index < names.count else { return nil }
      defer { index += 1 }
      return (names[index], registers[index])
    }
  }
}

extension RecordFields: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (String, Register)...) {
    for (name, register) in elements { self[name] = register }
  }
}
