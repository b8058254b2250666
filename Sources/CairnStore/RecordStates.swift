import CairnMerge

/// The full states of the records that have one, by slot.
///
/// What was asked for last is found without hashing: whoever types changes one record again and
/// again, and looks for its state twice with every keystroke.
struct RecordStates {
  private var places: [Int: Int] = [:]
  private var states: [RecordState] = []
  private var last = (slot: -1, place: 0)

  var isEmpty: Bool { states.isEmpty }
  /// The slots, ascending.
  var slots: [Int] { places.keys.sorted() }

  /// A slot's state. To change it in its place use `update`.
  subscript(slot: Int) -> RecordState? {
    get { place(slot).map { states[$0] } }
    set {
      guard let newValue else { return remove(slot) }
      if let place = place(slot) {
        states[place] = newValue
      } else {
        places[slot] = states.count
        states.append(newValue)
      }
    }
  }

  private func place(_ slot: Int) -> Int? {
    if slot == last.slot { return last.place }
    return states.isEmpty ? nil : places[slot]
  }

  private mutating func remove(_ slot: Int) {
    guard let place = places.removeValue(forKey: slot) else { return }
    let end = states.count - 1
    states.swapAt(place, end)
    states.removeLast()
    if place < end, let moved = places.first(where: { $0.value == end })?.key {
      places[moved] = place
    }
    last = (-1, 0)
  }

  /// What is pending in a list, as an edit. False if it says nothing.
  mutating func collectList(
    _ slot: Int, _ field: String, root: Dot, into edit: inout ListEdit
  ) -> Bool {
    guard let place = place(slot) else { return false }
    return states[place].fields.collectList(field, root: root, into: &edit)
  }

  /// What was collected is committed.
  mutating func commitList(
    _ slot: Int, _ field: String, root: Dot, _ edit: ListEdit, stamp: Stamp, seen: VersionVector
  ) {
    guard let place = place(slot) else { return }
    states[place].fields.commitList(field, root: root, edit, stamp: stamp, context: seen)
  }

  /// The number of a slot's state, for use in its place; nil if it has none. Good until a state
  /// comes or goes.
  @inline(__always)
  mutating func find(_ slot: Int) -> Int? {
    guard let place = place(slot) else { return nil }
    last = (slot, place)
    return place
  }

  /// The state of that number, in its place.
  subscript(at number: Int) -> RecordState {
    @inline(__always) _read { yield states[number] }
    @inline(__always) _modify { yield &states[number] }
  }

  /// Changes a slot's state in its place. False if there is none.
  @discardableResult
  mutating func update(_ slot: Int, _ change: (inout RecordState) -> Void) -> Bool {
    guard let place = place(slot) else { return false }
    last = (slot, place)
    change(&states[place])
    return true
  }
}
