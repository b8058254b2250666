import CairnFuzzBytes
import CairnFuzzStore

/// What libFuzzer drives, and what tests replay its corpus through. A target takes any bytes at
/// all; it throws a `FuzzFinding` if something does not hold, and a trap is a finding as well.
package enum FuzzTarget: String, CaseIterable, Sendable {
  /// One frame of a log.
  case frame
  /// A whole segment of a log; then a store that has it.
  case segment
  /// A whole snapshot; then a store that stands on it.
  case snapshot
  /// A description and blocks, which a snapshot with good checksums is made of.
  case block
  /// CURRENT, heads and the other small files; the first byte says which.
  case files
  /// Names of files and ids, as a listing may have them.
  case names
  /// A block of LZ4, beside a decoder that is written as the format is defined.
  case lz4
  /// Deltas, packs, states of records, lists; the first byte says which.
  case delta
  /// Packs, which stores incorporate in several orders.
  case packs
  /// Steps of a store's life with faults, beside a dictionary.
  case store
  /// Files in a folder, before two rounds of exchange.
  case folder
  /// CSV and JSON that is to be imported.
  case text
  /// Constant databases, and their text form.
  case cdb
  /// References to contents, their texts and hashes, and contents whose files are something else.
  case blob

  /// Runs the target once.
  package func run(_ bytes: [UInt8]) async throws {
    if self == .folder {
      try await HostileFolder(bytes).run()
    } else {
      try runAtOnce(bytes)
    }
  }

  /// The same for all but `folder`, without a task.
  package func runAtOnce(_ bytes: [UInt8]) throws {
    switch self {
    case .frame: try ByteTarget.frame.run(bytes)
    case .lz4: try ByteTarget.lz4.run(bytes)
    case .segment: try StoreTarget.segment.run(bytes)
    case .snapshot: try StoreTarget.snapshot.run(bytes)
    case .block: try StoreTarget.block.run(bytes)
    case .names: try StoreTarget.names.run(bytes)
    case .delta: try StoreTarget.delta.run(bytes)
    case .packs: try StoreTarget.packs.run(bytes)
    case .store: try StoreTarget.store.run(bytes)
    case .files: try FilesEntry.run(bytes)
    case .folder: throw FuzzFinding("the folder's target needs a task")
    case .text: try TextEntry.run(bytes)
    case .cdb: try CDBEntry.run(bytes)
    case .blob: try BlobEntry.run(bytes)
    }
  }
}
