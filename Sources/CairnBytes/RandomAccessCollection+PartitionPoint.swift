extension RandomAccessCollection {
  /// Where the elements begin for which `isBehind` is true, in a collection that has all those for
  /// which it is false before them; `endIndex` if there are none. O(log n) calls.
  @inlinable
  package func partitionPoint<E: Error>(
    _ isBehind: (Element) throws(E) -> Bool
  ) throws(E) -> Index {
    var low = startIndex
    var left = count
    while left > 0 {
      let half = left / 2
      let middle = index(low, offsetBy: half)
      if try isBehind(self[middle]) {
        left = half
      } else {
        low = index(after: middle)
        left -= half + 1
      }
    }
    return low
  }
}
