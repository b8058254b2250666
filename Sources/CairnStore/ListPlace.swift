import CairnMerge

/// Where a list lies that is being edited: good until the table changes otherwise. Whoever types
/// has one list found once for each edit and once for its commit, and then used in its place:
/// handed from function to function by closures it took a quarter of a keystroke.
struct ListPlace {
  /// The number of its record's full state; `lists` if it is in those of the table.
  var state: UInt32
  /// The field's register in that state.
  var register: UInt32
  /// Among the lists of that register, or of the table.
  var list: UInt32
  /// It is one of several values of its field.
  var isContested: Bool

  static let lists = UInt32.max

  init(_ list: Int) {
    (state, register, self.list) = (ListPlace.lists, 0, UInt32(list))
    isContested = false
  }

  init(_ list: Int, of register: Int, in state: Int, isContested: Bool) {
    (self.state, self.register, self.list) = (UInt32(state), UInt32(register), UInt32(list))
    self.isContested = isContested
  }
}

extension TableState {
  /// Where the list is of a cell that says `editedList`; nil for every other.
  @inline(__always)
  mutating func placeOfShown(_ slot: Int, _ column: Int) -> ListPlace? {
    let cell = columns[column].cell(slot)
    guard cell.tag == CellTag.editedList else { return nil }
    if cell.word != TableState.listInState.word { return ListPlace(Int(cell.word)) }
    guard let state = complex.find(slot),
      let found = complex[at: state].fields.placeOfList(fieldNames[column], columns[column].rule)
    else { return nil }
    return ListPlace(
      found.list, of: found.register, in: state, isContested: found.isContested)
  }

  /// Where a list with pending edits is, whether or not it is visible now.
  @inline(__always)
  mutating func placeOfPending(_ key: ListKey) -> ListPlace? {
    let (slot, column) = (Int(key.slot), Int(key.column))
    if key.root == Stamp.settled.dot { return placeOfShown(slot, column) }
    guard let state = complex.find(slot),
      let found = complex[at: state].fields.placeOfList(fieldNames[column], root: key.root)
    else { return nil }
    return ListPlace(found.list, of: found.register, in: state, isContested: false)
  }

  /// Runs `body` on the list at a place.
  @inline(__always)
  mutating func withList<R>(at place: ListPlace, _ body: (inout ListState) -> R) -> R {
    let list = Int(place.list)
    if place.state == ListPlace.lists { return body(&lists[list]) }
    return body(&complex[at: Int(place.state)].fields.registers[Int(place.register)].lists[list])
  }
}
