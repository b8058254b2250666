/// The version of every format here. A file carries the version that wrote it and a floor: the
/// oldest version that may read it. Readers go by the floor alone.
package enum FormatVersion {
  package static let current: UInt16 = 1
  package static let floor: UInt16 = 1

  package static func check(
    floor: UInt16, path: String
  ) throws(LogError) {
    guard floor <= current else {
      throw LogError(
        .needsNewerVersion(floor), path,
        "written by a newer version: it needs format \(floor), this is \(current); update the app")
    }
  }
}
