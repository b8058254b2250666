/// Something that is not as it should be, or worth knowing, and what to do about it.
public struct Finding: Hashable, Sendable {
  /// How bad it is.
  @nonexhaustive
  public enum Severity: String, Hashable, Sendable, Comparable, CaseIterable {
    /// Worth knowing. Nothing has to be done.
    case note
    /// Not as it should be, but nothing is lost or about to be.
    case warning
    /// Something is damaged, missing or refused.
    case error

    /// From the least to the most serious.
    public static func < (a: Severity, b: Severity) -> Bool { a.rank < b.rank }

    private var rank: Int {
      switch self {
      case .note: 0
      case .warning: 1
      case .error: 2
      }
    }
  }

  /// The name of the check that found it: a word that stays the same.
  public var check: String
  /// How bad it is.
  public var severity: Severity
  /// Id of the datastore that it is about, if it is about one.
  public var datastore: String?
  /// What is wrong, where and why.
  public var message: String
  /// Path of the file or directory, or name of the file in the shared folder.
  public var file: String?
  /// Where in the file, in bytes.
  public var offset: UInt64?
  /// The command that mends it; nil if none does or nothing has to be done.
  public var command: String?
}
