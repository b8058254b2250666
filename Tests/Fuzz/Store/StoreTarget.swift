/// The targets that need a store, and no exchange: half of the counters of all of Cairn.
package enum StoreTarget: String, Sendable {
  /// A whole segment of a log; then a store that has it.
  case segment
  /// A whole snapshot; then a store that stands on it.
  case snapshot
  /// A description and blocks, which a snapshot with good checksums is made of.
  case block
  /// Names of files and ids, as a listing may have them.
  case names
  /// Deltas, packs, states of records, lists; the first byte says which.
  case delta
  /// Packs, which stores incorporate in several orders.
  case packs
  /// Steps of a store's life with faults, beside a dictionary.
  case store

  /// Runs the target once.
  package func run(_ bytes: [UInt8]) throws {
    switch self {
    case .segment: try SegmentEntry.run(bytes)
    case .snapshot: try SnapshotEntry.run(bytes)
    case .block: try BlockEntry.run(bytes)
    case .names: try NamesEntry.run(bytes)
    case .delta: try DeltaEntry.run(bytes)
    case .packs: try PacksEntry.run(bytes)
    case .store: try StoreEntry.run(bytes)
    }
  }
}
