import CairnBytes

/// A dictionary by slot that mostly has one entry or two: few are found by comparing, which costs
/// less than hashing one, and its memory is kept when it is emptied.
struct SlotMap<Value: Sendable>: Sendable {
  private(set) var slots: [UInt32] = []
  private(set) var values: [Value] = []
  /// Indexes in `slots`, once there are more than a few.
  private var places: [UInt32: Int] = [:]

  private static var few: Int { 8 }

  var isEmpty: Bool { slots.isEmpty }
  var count: Int { slots.count }

  private func place(_ slot: UInt32) -> Int? {
    if slots.count > SlotMap.few { return places[slot] }
    for place in slots.indices where slots[place] == slot { return place }
    return nil
  }

  func contains(_ slot: UInt32) -> Bool { !slots.isEmpty && place(slot) != nil }

  /// The entry of a slot; nil takes it away.
  subscript(slot: UInt32) -> Value? {
    get { place(slot).map { values[$0] } }
    set {
      switch (place(slot), newValue) {
      case (let place?, let value?): values[place] = value
      case (nil, let value?): append(slot, value)
      case (let place?, nil): remove(at: place)
      case (nil, nil): break
      }
    }
  }

  private mutating func append(_ slot: UInt32, _ value: Value) {
    slots.append(slot)
    values.append(value)
    if slots.count <= SlotMap.few { return }
    if places.isEmpty {
      for place in slots.indices { places[slots[place]] = place }
    } else {
      places[slot] = slots.count - 1
    }
  }

  private mutating func remove(at place: Int) {
    let last = slots.count - 1
    slots.swapAt(place, last)
    values.swapAt(place, last)
    let slot = slots.removeLast()
    values.removeLast()
    if places.isEmpty { return }
    places[slot] = nil
    if place < last { places[slots[place]] = place }
    if slots.count <= SlotMap.few { places = [:] }
  }

  /// Empties it and keeps the memory of what it mostly is.
  mutating func removeAll() {
    if slots.isEmpty { return }
    slots.clear()
    values.clear()
    if !places.isEmpty { places = [:] }
  }
}
