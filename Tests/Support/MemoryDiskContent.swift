/// A name in a simulated directory: bytes, since Swift takes some strings of different bytes as equal.
typealias MemoryDiskName = [UInt8]

/// A simulated file: what programs see, what a power cut leaves for certain, and the changes between.
///
/// After a failed sync the changes between are gone although programs still see them.
struct MemoryDiskContent {
  enum Change {
    case write(at: Int, [UInt8])
    case truncate(to: Int)
    case extend(to: Int)
  }

  private(set) var current: [UInt8] = []
  private(set) var durable: [UInt8] = []
  private(set) var pending: [Change] = []
  var modified: Int64
  /// Names it has, and handles.
  var links = 0
  var opens = 0

  /// A file that has always been there.
  init(_ bytes: [UInt8] = [], modified: Int64) {
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
  mutating func replace(_ bytes: [UInt8]) {
    (current, durable, pending) = (bytes, bytes, [])
  }

  mutating func flip(_ offset: Int, _ bits: UInt8) {
    current[offset] ^= bits
    if offset < durable.count { durable[offset] ^= bits }
  }

  static func apply(_ change: Change, to bytes: inout [UInt8]) {
    switch change {
    case .write(let place, let new):
      write(new[...], at: place, to: &bytes)
    case .truncate(let length):
      if length < bytes.count { bytes.removeLast(bytes.count - length) }
      grow(&bytes, to: length)
    case .extend(let length):
      grow(&bytes, to: length)
    }
  }

  static func grow(_ bytes: inout [UInt8], to length: Int) {
    if length > bytes.count {
      bytes.append(contentsOf: repeatElement(0, count: length - bytes.count))
    }
  }

  static func write(_ new: ArraySlice<UInt8>, at place: Int, to bytes: inout [UInt8]) {
    grow(&bytes, to: place + new.count)
    unsafe bytes.withUnsafeMutableBytes { target in
      unsafe new.withUnsafeBytes { source in
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[place..<(place + new.count)])
          .copyMemory(from: source)
      }
    }
  }
}
