import CairnToolText

/// The two output streams.
enum Console {
  /// Results. Throws if they can't be written, so that a full disk is a failure and not silence.
  static func print(_ text: String) throws {
    try put(Array(text.harmless.utf8) + [UInt8(ascii: "\n")])
  }

  static func put(_ bytes: [UInt8]) throws {
    try Descriptor.put(bytes, on: Descriptor.standardOutput, name: "standard output")
  }

  /// Messages; without `newline` one that writes over the line before. That nobody can read them is
  /// no reason to fail.
  static func error(_ text: String, newline: Bool = true) {
    let bytes = Array((newline ? text.harmless + "\n" : text).utf8)
    // Nowhere is left to report that standard error is closed.
    try? Descriptor.put(bytes, on: Descriptor.standardError, name: "standard error")
  }
}
