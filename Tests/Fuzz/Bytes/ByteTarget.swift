/// The targets that need nothing but bytes and frames. What libFuzzer drives them with has a
/// twentieth of the counters of all of Cairn, which it goes through after every input.
package enum ByteTarget: String, Sendable {
  /// One frame of a log.
  case frame
  /// A block of LZ4, beside a decoder that is written as the format is defined.
  case lz4

  /// Runs the target once.
  package func run(_ bytes: [UInt8]) throws {
    switch self {
    case .frame: try FrameEntry.run(bytes)
    case .lz4: try LZ4Entry.run(bytes)
    }
  }
}
