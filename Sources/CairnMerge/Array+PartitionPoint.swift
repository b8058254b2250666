extension Array {
  /// Where the elements begin for which `isBelow` is false, in an array in which those for which it
  /// is true come first. Cost: the logarithm of the count.
  @inlinable
  package func partitionPoint(_ isBelow: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isBelow(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
