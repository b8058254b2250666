/// What an examination found.
public struct DoctorReport: Hashable, Sendable {
  /// What was found, in the order in which things were looked at.
  public var findings: [Finding] = []
  /// Directories of datastores that were looked at.
  public var roots: [String] = []
  /// Datastores that were looked at, by id; those of several roots one after the other.
  public var datastores: [String] = []

  /// A report of nothing.
  public init() {}

  /// Nothing has to be done: there are no findings but notes.
  public var isHealthy: Bool { findings.allSatisfy { $0.severity == .note } }
}
