import CairnDisk

/// The compaction in the background.
struct CompactionState {
  var thread: BackgroundThread?
  /// Why the last one failed; a later commit tries again.
  var failure: StoreError?
  /// While the log has so many bytes it is too early for that: each try seals a segment, and takes
  /// what room there is. Where it is shorter something else has folded it.
  private var pause: Range<Int> = 0..<0

  func isTooEarly(_ length: Int) -> Bool { pause.contains(length) }

  /// How the last one has ended, with a log of `length` bytes. After a failure it has to grow by
  /// `step`, or by an eighth.
  mutating func end(_ failure: StoreError?, length: Int, step: Int) {
    self.failure = failure
    let (limit, isBeyond) = length.addingReportingOverflow(max(step, length / 8))
    pause = failure == nil ? 0..<0 : length..<(isBeyond ? .max : limit)
  }
}
