#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Tells a process from the children that it is copied to. Every commit asks, and the system's
/// answer costs a quarter of a microsecond; so the answer is in memory that children do not get.
///
/// A child that shares its parent's memory (`vfork`) is not told apart: all that it may do is to
/// start another program.
struct ProcessMark {
  let process: pid_t
  private let word: ForkedWord
  private let generation: Int

  /// The mark of this process.
  init() {
    process = getpid()
    word = ForkedWord.shared
    generation = word.generation()
  }

  /// Whether this still is the process of the mark.
  var isOwn: Bool { word.isEmptied ? word.value == generation : getpid() == process }
}
