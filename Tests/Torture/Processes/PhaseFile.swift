#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What a writer is at, for whoever kills it: a byte for each of its two threads, in a file, since
/// that is there after the kill.
struct PhaseFile: Sendable {
  enum Phase: UInt8, CaseIterable, Sendable {
    /// The program is loaded, and has not touched its datastore.
    case starting
    case opening, changing, committing, compacting, exchanging, closing
    /// It says what it did, and nothing else.
    case between
  }

  private let file: Int32

  init(_ path: String) throws(TortureFailure) {
    file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw TortureFailure("could not open \(path): errno \(errno)") }
  }

  func enter(_ phase: Phase, thread: Int = 0) {
    var byte = phase.rawValue
    unsafe pwrite(file, &byte, 1, off_t(thread))
  }

  /// Before a new writer starts.
  static func reset(_ path: String) throws(TortureFailure) { try TextFile.write(path, [0, 0]) }

  /// What the threads of a writer are at, or were when it ended.
  static func read(_ path: String) -> [Phase] {
    TextFile.bytes(path).map { Phase(rawValue: $0) ?? .starting }
  }
}
