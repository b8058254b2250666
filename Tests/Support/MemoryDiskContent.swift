/// A name in a simulated directory: bytes, since Swift takes some strings of different bytes as
/// equal.
typealias MemoryDiskName = [UInt8]

/// A simulated file: what programs see, what a power cut leaves for certain, and the changes
/// between.
///
/// After a failed sync the changes between are gone although programs still see them.
struct MemoryDiskContent {
  enum Change {
    case write(at: Int, [UInt8])
    case truncate(to: Int)
    case extend(to: Int)
  }

  private(set) var current = MemoryDiskBytes()
  private(set) var durable = MemoryDiskBytes()
  private(set) var pending: [Change] = []
  var modified: Int64
  /// Names it has, and handles.
  var links = 0
  var opens = 0
  /// Nobody but the user may read it.
  var isPrivate = false

  /// A file that has always been there.
  init(_ bytes: MemoryDiskBytes = MemoryDiskBytes(), modified: Int64) {
    self.modified = modified
    replace(bytes)
  }

  mutating func make(_ change: Change) {
    Self.apply(change, to: &current)
    pending.append(change)
  }

  mutating func sync() {
    for change in pending { Self.apply(change, to: &durable) }
    pending = []
  }

  mutating func failSync() { pending = [] }

  /// Behind everybody's back: on the medium and in memory.
  mutating func replace(_ bytes: MemoryDiskBytes) {
    (current, durable, pending) = (bytes, bytes, [])
  }

  mutating func flip(_ offset: Int, _ bits: UInt8) {
    current.flip(offset, bits)
    durable.flip(offset, bits)
  }

  static func apply(_ change: Change, to bytes: inout MemoryDiskBytes) {
    switch change {
    case .write(let place, let new): bytes.write(new[...], at: place)
    case .truncate(let length): bytes.truncate(to: length)
    case .extend(let length): bytes.grow(to: length)
    }
  }
}
