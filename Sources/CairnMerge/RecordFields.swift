import CairnBytes

/// The fields of a record that have something to remember, by name.
///
/// Records in conflict have a handful of fields, and their states are written in the order of the
/// names: sorted arrays that are searched beat a dictionary, above all where one field is changed
/// again and again. Of many fields a dictionary says where each is, and a new one goes to the end:
/// somebody else's delta may bring a million of them in the worst order there is.
package struct RecordFields: Sendable {
  /// Sorted, as long as there are few.
  private var names: [String] = []
  /// In the order of the names. To be changed from outside only one at a time and in its place, by
  /// whoever was told where that is (`placeOfList`).
  package var registers: [Register] = []
  /// Where each name is; empty as long as there are few.
  private var places: [String: Int] = [:]

  /// So many are kept in order: putting one in moves fewer than it costs to find it otherwise.
  package static let few = 64

  package init() {}

  package var isEmpty: Bool { names.isEmpty }
  package var count: Int { names.count }
  /// The names, ascending.
  package var keys: [String] { isSorted ? names : names.sorted() }
  /// The registers, as they lie in memory: in the order of their names if there are few.
  package var values: [Register] { registers }

  private var isSorted: Bool { names.count <= RecordFields.few }

  /// Where a field is, or would have to be.
  private func place(_ field: String) -> (index: Int, isThere: Bool) {
    // One field is the rule where a text is typed, and to be equal is cheaper than to come before.
    if names.count == 1, names[0] == field { return (0, true) }
    if !isSorted {
      guard let known = places[field] else { return (names.count, false) }
      return (known, true)
    }
    guard let last = names.last, field <= last else { return (names.count, false) }
    let index = names.partitionPoint { $0 >= field }
    return (index, names[index] == field)
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
      case (false, let register?): insert(field, register, at: place.index)
      case (true, nil): remove(at: place.index)
      case (false, nil): break
      }
    }
  }

  private mutating func insert(_ field: String, _ register: Register, at index: Int) {
    names.insert(field, at: index)
    registers.insert(register, at: index)
    if isSorted { return }
    if places.isEmpty {
      for (index, name) in names.enumerated() { places[name] = index }
    } else {
      places[field] = index
    }
  }

  private mutating func remove(at index: Int) {
    if isSorted {
      names.remove(at: index)
      registers.remove(at: index)
      return
    }
    places[names[index]] = nil
    let end = names.count - 1
    names.swapAt(index, end)
    registers.swapAt(index, end)
    names.removeLast()
    registers.removeLast()
    if index < end { places[names[index]] = index }
    if !isSorted { return }
    let order = names.indices.sorted { names[$0] < names[$1] }
    names = order.map { names[$0] }
    registers = order.map { registers[$0] }
    places = [:]
  }

  /// Changes a field's register in its place; no effect if there is none.
  package mutating func update(_ field: String, _ change: (inout Register) -> Void) {
    let place = place(field)
    if place.isThere { change(&registers[place.index]) }
  }

  /// Where the list is that a field shows: its register, its place there, and whether other values
  /// compete with it. Nil if it shows none that was opened. Mutating, as what follows, though
  /// nothing changes: what is asked where it lies is not copied for the question.
  package mutating func placeOfList(
    _ field: String, _ rule: Rule
  ) -> (register: Int, list: Int, isContested: Bool)? {
    let place = place(field)
    guard place.isThere, let list = registers[place.index].placeOfList(rule) else { return nil }
    return (place.index, list, registers[place.index].entries.count > 1)
  }

  /// The same for the list that began with a delta, whether or not it shows.
  package mutating func placeOfList(
    _ field: String, root: Dot
  ) -> (register: Int, list: Int)? {
    let place = place(field)
    guard place.isThere, let list = registers[place.index].placeOfList(root: root) else {
      return nil
    }
    return (place.index, list)
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

/// In the order of the names.
extension RecordFields: Sequence {
  package typealias Element = (key: String, value: Register)

  package func makeIterator() -> AnyIterator<Element> {
    let order = isSorted ? nil : names.indices.sorted { names[$0] < names[$1] }
    var next = 0
    return AnyIterator {
      guard next < names.count else { return nil }
      defer { next += 1 }
      let index = order?[next] ?? next
      return (names[index], registers[index])
    }
  }
}

extension RecordFields: Hashable {
  package static func == (a: RecordFields, b: RecordFields) -> Bool {
    if a.names == b.names { return a.registers == b.registers }
    // Many lie in the order in which they came.
    guard !a.isSorted, a.count == b.count else { return false }
    return a.names.indices.allSatisfy { b[a.names[$0]] == a.registers[$0] }
  }

  package func hash(into hasher: inout Hasher) {
    for (name, register) in self {
      hasher.combine(name)
      hasher.combine(register)
    }
  }
}

extension RecordFields: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (String, Register)...) {
    for (name, register) in elements { self[name] = register }
  }
}
