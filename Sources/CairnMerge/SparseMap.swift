import CairnBytes

/// What a few of many numbered things have: pairs, sorted by number.
///
/// Deltas are written and read in that order, so a new pair nearly always goes to the end. Unlike a
/// dictionary it hashes nothing, and keeps its memory when it is emptied: a commit of one keystroke
/// would spend more on a dictionary than on all else that it says.
@frozen
@usableFromInline
package struct SparseMap<Value: Sendable>: Sendable {
  @usableFromInline var numbers: [Int] = []
  @usableFromInline package internal(set) var values: [Value] = []

  @inlinable
  package init() {}

  @inlinable package var isEmpty: Bool { numbers.isEmpty }
  @inlinable package var count: Int { numbers.count }

  /// Where the pair of a number is, or would have to be.
  @inlinable
  func place(_ number: Int) -> Int {
    guard let last = numbers.last, number <= last else { return numbers.count }
    var (low, high) = (0, numbers.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  @inlinable
  func has(_ number: Int, at place: Int) -> Bool {
    place < numbers.count && numbers[place] == number
  }

  /// Where in `values` that is what a thing has, for those who would rather look than copy; nil if
  /// it has nothing.
  @inlinable
  package func index(_ number: Int) -> Int? {
    let place = place(number)
    return has(number, at: place) ? place : nil
  }

  /// What a thing has; nil takes it away.
  @inlinable
  package subscript(number: Int) -> Value? {
    get {
      if numbers.isEmpty { return nil }
      let place = place(number)
      return has(number, at: place) ? values[place] : nil
    }
    set {
      if let newValue { put(number, newValue) } else { _ = removeValue(number) }
    }
  }

  @inlinable
  mutating func put(_ number: Int, _ value: consuming Value) {
    if numbers.last.map({ $0 < number }) ?? true {
      numbers.append(number)
      values.append(value)
      return
    }
    let place = place(number)
    if has(number, at: place) {
      values[place] = value
    } else {
      numbers.insert(number, at: place)
      values.insert(value, at: place)
    }
  }

  /// Adds what a thing has that comes behind all others.
  @inlinable
  package mutating func append(_ number: Int, _ value: consuming Value) {
    put(number, value)
  }

  /// What a thing has, for which `empty` is left in its place: nothing moves, in whatever order
  /// things are asked.
  @inlinable
  package mutating func take(_ number: Int, leaving empty: consuming Value) -> Value? {
    let place = place(number)
    guard has(number, at: place) else { return nil }
    var taken = empty
    swap(&taken, &values[place])
    return taken
  }

  /// Takes out what a thing has.
  @inlinable
  package mutating func removeValue(_ number: Int) -> Value? {
    if numbers.isEmpty { return nil }
    let place = place(number)
    guard has(number, at: place) else { return nil }
    if place == numbers.count - 1 {
      numbers.removeLast()
      return values.removeLast()
    }
    numbers.remove(at: place)
    return values.remove(at: place)
  }

  /// Empties it and keeps the memory.
  @inlinable
  package mutating func removeAll() {
    if numbers.isEmpty { return }
    // As `Array.clear`, which can't be inlined from here.
    if numbers.count == 1 {
      numbers.removeLast()
      values.removeLast()
    } else {
      numbers.removeAll(keepingCapacity: true)
      values.removeAll(keepingCapacity: true)
    }
  }

  /// The pairs, by ascending number.
  package var pairs: [(number: Int, value: Value)] {
    numbers.indices.map { (numbers[$0], values[$0]) }
  }
}

extension SparseMap: Equatable where Value: Equatable {}

extension SparseMap: ExpressibleByDictionaryLiteral {
  @inlinable
  package init(dictionaryLiteral elements: (Int, Value)...) {
    self.init()
    for (number, value) in elements { self[number] = value }
  }
}
