extension Array {
  /// Empties it and keeps its memory. What is filled and emptied again and again mostly holds
  /// nothing or one element, and for these the general way costs ten times as much.
  @inlinable @inline(always)
  package mutating func clear() {
    if count == 1 {
      removeLast()
    } else if !isEmpty {
      removeAll(keepingCapacity: true)
    }
  }
}
