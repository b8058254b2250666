/// The bytes of a simulated file. Zeros at the end are not stored: files are preallocated in
/// megabytes and copied by the thousand.
struct MemoryDiskBytes {
  private(set) var length = 0
  /// No longer than `length`.
  private var stored: [UInt8] = []

  init(_ bytes: [UInt8] = []) {
    stored = bytes
    length = bytes.count
  }

  /// Without zeros at the end.
  var content: [UInt8] {
    guard stored.last == 0 else { return stored }
    return Array(stored.prefix((stored.lastIndex { $0 != 0 } ?? -1) + 1))
  }

  var all: [UInt8] { read(0..<length) }

  func read(_ range: Range<Int>) -> [UInt8] {
    let range = range.clamped(to: 0..<length)
    let part = range.clamped(to: 0..<stored.count)
    var bytes = Array(stored[part])
    bytes += [UInt8](repeating: 0, count: range.count - part.count)
    return bytes
  }

  /// Never makes it shorter.
  mutating func grow(to length: Int) { self.length = max(self.length, length) }

  mutating func truncate(to length: Int) {
    self.length = length
    if stored.count > length { stored.removeLast(stored.count - length) }
  }

  mutating func write(_ new: ArraySlice<UInt8>, at place: Int) {
    let end = place + new.count
    grow(to: end)
    if stored.count < end { stored += [UInt8](repeating: 0, count: end - stored.count) }
    unsafe stored.withUnsafeMutableBytes { target in
      unsafe new.withUnsafeBytes { source in
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[place..<end])
          .copyMemory(from: source)
      }
    }
  }

  /// Flips bits of one byte; beyond the end there is none.
  mutating func flip(_ offset: Int, _ bits: UInt8) {
    guard offset < length else { return }
    write([read(offset..<(offset + 1))[0] ^ bits], at: offset)
  }
}
