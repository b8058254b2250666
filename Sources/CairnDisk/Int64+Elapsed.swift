extension Int64 {
  /// Milliseconds from an earlier time until this one, or as many as there is room for: the times
  /// that are in files, and those of files, may be any number.
  package func elapsed(since earlier: Int64) -> Int64 {
    let difference = subtractingReportingOverflow(earlier)
    if difference.overflow { return earlier < self ? .max : .min }
    return difference.partialValue
  }
}
