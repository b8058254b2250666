/// The version of every format here. A file carries the version that wrote it and a floor: the
/// oldest version that may read it. Readers go by the floor alone.
package enum FormatVersion {
  package static let current: UInt16 = 1
  package static let floor: UInt16 = 1
  /// The version, and the floor, of segments and snapshots that have cuts, in the folder and at
  /// home: who does not know these would apply what they keep out.
  package static let cuts: UInt16 = 2

  package static func check(
    floor: UInt16, path: String, known: UInt16 = current
  ) throws(LogError) {
    guard floor <= known else {
      throw LogError(
        .needsNewerVersion(floor), path,
        "written by a newer version: it needs format \(floor), this is \(known); update the app")
    }
  }
}
