public import Synchronization

/// The bytes of a file that nobody changes, read when they are first asked for and then looked at
/// where they lie, without a copy.
///
/// This is not a mapping of the file. Under one, a file that is cut short, a damaged sector or a
/// lost network drive kills the process with a signal that no error path sees; here they are an
/// error of `fetch`, or fewer bytes. It is room in memory as long as the file, of which the system
/// gives what is written to. What was read once costs what a mapping costs: a look at a flag.
///
/// Reads fill at most `budget` bytes of the room; what is asked for beyond that is copied each
/// time. A file that fits into the budget, and of which a good part was asked for, is read as a
/// whole into a second room, made of large pages: a look at any place of it is then a third faster.
// Usable from inline: without that its methods are not inlined in other modules, whatever they say.
// Unchecked: a room is written to under `keeping`'s lock, a piece once, before its flag is set (or
// by one thread, before anybody knows of it); it is only read after that was seen.
@safe @usableFromInline package final class FileBytes: @unchecked Sendable {
  /// The file that is read.
  package let file: any DiskFile
  /// The file's length when it was opened.
  @usableFromInline package let count: UInt64
  /// Where all of the file lies, once all of it was read.
  @usableFromInline let whole = unsafe Atomic<UnsafeRawPointer?>(nil)
  /// Where the first byte lies; nil if the system had no room, or nothing may be kept.
  @usableFromInline let base: UnsafeMutableRawPointer?
  /// One for each piece: 1 when it is in memory.
  @usableFromInline let flags: UnsafeMutablePointer<Atomic<UInt8>>?
  private let roomLength: Int
  private let keeping: Lock<Keeping>

  private struct Keeping {
    /// How many more bytes may be kept.
    var left: Int
    var kept = 0
    /// How many are kept when the whole file is to be read; nil if that is not to be, or was tried.
    var whole: Int?
    /// The second room.
    var room: MemoryRoom?
  }

  /// Bytes of a piece, as a power of two: a read of so much costs hardly more than one of a page.
  @usableFromInline static let pieceBits: UInt64 = 14
  private static let pieceSize = 1 << Int(pieceBits)
  /// Beyond that even the flags would be large.
  private static let largestRoom: UInt64 = 1 << 40
  /// A file is read as a whole when so much of it was asked for, and a sixteenth.
  private static let goodPart = 1 << 20

  /// Takes over an open file.
  package init(_ file: any DiskFile, budget: Int) throws(DiskError) {
    self.file = file
    let count = try file.size()
    self.count = count
    guard count > 0, count <= Self.largestRoom, budget > 0, MemoryLayout<Int>.size == 8 else {
      keeping = Lock(Keeping(left: 0))
      unsafe (base, flags, roomLength) = (nil, nil, 0)
      return
    }
    let whole = Int(count) <= budget ? max(Self.goodPart, Int(count) / 16) : nil
    keeping = Lock(Keeping(left: budget, whole: whole))
    let pieces = (Int(count) + Self.pieceSize - 1) / Self.pieceSize
    let length = pieces * Self.pieceSize + pieces
    let found = unsafe MemoryRoom.reserve(length)
    unsafe base = found
    unsafe flags = found?.advanced(by: pieces * Self.pieceSize)
      .bindMemory(to: Atomic<UInt8>.self, capacity: pieces)
    roomLength = length
  }

  deinit {
    if let base = unsafe base { unsafe MemoryRoom.release(base, roomLength) }
    file.close()
  }

  // MARK: looking

  /// Where the file begins if all of it is in memory: `count` bytes, as long as this object lives.
  @inlinable @inline(always)
  package var start: UnsafeRawPointer? { unsafe whole.load(ordering: .acquiring) }

  /// Whether a range is in memory; false for one that is not in the file.
  @inlinable @inline(always)
  package func holds(_ offset: UInt64, _ length: Int) -> Bool {
    unsafe place(offset, length) != nil
  }

  /// Where a range lies; nil if it is not in memory, or not in the file.
  @inlinable @inline(always)
  package func place(_ offset: UInt64, _ length: Int) -> UnsafeRawPointer? {
    guard length >= 0, offset <= count,
      UInt64(truncatingIfNeeded: length) <= count &- offset
    else { return nil }
    if let whole = unsafe start {
      return unsafe whole + Int(truncatingIfNeeded: offset)
    }
    guard let flags = unsafe flags, let base = unsafe base else { return nil }
    if length > 0 {
      var piece = Int(truncatingIfNeeded: offset >> Self.pieceBits)
      let end = offset &+ UInt64(truncatingIfNeeded: length) &- 1
      let last = Int(truncatingIfNeeded: end >> Self.pieceBits)
      while piece <= last {
        if unsafe flags[piece].load(ordering: .acquiring) == 0 { return nil }
        piece &+= 1
      }
    }
    return unsafe UnsafeRawPointer(base) + Int(truncatingIfNeeded: offset)
  }

  /// Four bytes, little-endian; nil if they are not in memory.
  @inlinable @inline(always)
  package func u32(at offset: UInt64) -> UInt32? {
    guard let place = unsafe place(offset, 4) else { return nil }
    return unsafe UInt32(littleEndian: place.loadUnaligned(as: UInt32.self))
  }

  /// Eight bytes, little-endian; nil if they are not in memory.
  @inlinable @inline(always)
  package func u64(at offset: UInt64) -> UInt64? {
    guard let place = unsafe place(offset, 8) else { return nil }
    return unsafe UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
  }

  /// Whether the bytes at a place are these; nil if they are not in memory.
  package func equal(at offset: UInt64, _ other: Span<UInt8>) -> Bool? {
    guard let start = unsafe place(offset, other.count) else { return nil }
    return unsafe Self.equal(start, other)
  }

  /// Whether the bytes that begin there are these.
  @inlinable @inline(always)
  package static func equal(_ start: UnsafeRawPointer, _ other: Span<UInt8>) -> Bool {
    unsafe other.withUnsafeBytes { other in
      guard let there = other.baseAddress else { return true }
      var index = 0
      while index &+ 8 <= other.count {
        let ours = unsafe start.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let theirs = unsafe there.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        if ours != theirs { return false }
        index &+= 8
      }
      while index < other.count {
        let ours = unsafe start.load(fromByteOffset: index, as: UInt8.self)
        let theirs = unsafe there.load(fromByteOffset: index, as: UInt8.self)
        if ours != theirs { return false }
        index &+= 1
      }
      return true
    }
  }

  /// Shows a range where it lies; nil, without a call, if it is not in memory.
  @inlinable @inline(always)
  package func withSpan<R, E: Error>(
    at offset: UInt64, count length: Int, _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R? {
    guard let place = unsafe place(offset, length) else { return nil }
    let start = unsafe place.assumingMemoryBound(to: UInt8.self)
    return try unsafe body(UnsafeBufferPointer(start: start, count: length).span)
  }

  // MARK: reading

  /// Sees to it that a range is in memory: then nil. If it can't be kept, a copy of it; fewer bytes
  /// if the file ends before the range does.
  package func fetch(_ offset: UInt64, _ length: Int) throws(DiskError) -> [UInt8]? {
    if holds(offset, length) { return nil }
    guard let flags = unsafe flags, let base = unsafe base, length > 0, offset <= count,
      UInt64(length) <= count - offset
    else { return try file.read(at: offset, count: length) }
    let first = Int(offset >> Self.pieceBits)
    let last = Int((offset + UInt64(length) - 1) >> Self.pieceBits)
    for piece in first...last {
      guard try unsafe keep(piece, flags, base) else {
        return try file.read(at: offset, count: length)
      }
    }
    readWhole()
    return nil
  }

  /// A copy of a range, which is kept if it can be; fewer bytes if the file ends before.
  package func copy(_ offset: UInt64, _ length: Int) throws(DiskError) -> [UInt8] {
    if let copy = try fetch(offset, length) { return copy }
    let copy = withSpan(at: offset, count: length) { span in
      unsafe span.withUnsafeBufferPointer { unsafe [UInt8]($0) }
    }
    return copy ?? []
  }

  /// A range without keeping it: for walks over the whole file, which come by once.
  package func read(_ offset: UInt64, _ length: Int) throws(DiskError) -> [UInt8] {
    try file.read(at: offset, count: length)
  }

  /// Reads a piece; false if it can't be kept.
  private func keep(
    _ piece: Int, _ flags: UnsafeMutablePointer<Atomic<UInt8>>, _ base: UnsafeMutableRawPointer
  ) throws(DiskError) -> Bool {
    if unsafe flags[piece].load(ordering: .acquiring) != 0 { return true }
    let start = piece * Self.pieceSize
    let length = min(Self.pieceSize, Int(count) - start)
    if keeping.withLock({ $0.left < length }) { return false }
    // Outside of the lock: whoever reads the same piece meanwhile reads the same bytes.
    let bytes = try file.read(at: UInt64(start), count: length)
    guard bytes.count == length else { return false }
    return keeping.withLock { keeping in
      if unsafe flags[piece].load(ordering: .acquiring) != 0 { return true }
      if keeping.left < length { return false }
      keeping.left -= length
      keeping.kept += length
      unsafe bytes.withUnsafeBytes { source in
        if let from = source.baseAddress {
          unsafe (base + start).copyMemory(from: from, byteCount: length)
        }
      }
      unsafe flags[piece].store(1, ordering: .releasing)
      if keeping.kept == Int(count), keeping.room == nil {
        unsafe whole.store(UnsafeRawPointer(base), ordering: .releasing)
      }
      return true
    }
  }

  /// Reads the whole file, if it is time. If that fails, pieces are read as before, and say why.
  private func readWhole() {
    let isTime = keeping.withLock { keeping in
      guard let whole = keeping.whole, keeping.kept >= whole else { return false }
      keeping.whole = nil
      return true
    }
    guard isTime, let room = MemoryRoom(Int(count)) else { return }
    var offset = 0
    while offset < Int(count) {
      let length = min(Self.readSize, Int(count) - offset)
      // A place that can't be read fails whoever asks for it, and only them.
      guard let bytes = try? file.read(at: UInt64(offset), count: length), bytes.count == length
      else { return }
      room.write(bytes, at: offset)
      offset += length
    }
    keeping.withLock { $0.room = room }
    unsafe whole.store(room.start, ordering: .releasing)
  }

  private static let readSize = 256 << 10
}
