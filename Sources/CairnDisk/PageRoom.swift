public import Synchronization

/// Pages of a file that were read and checked, side by side in memory: looked at without a lock,
/// and without counting references.
// Unchecked: a page is written once, under the lock, before its flag is set; it is only read after
// that was seen.
@safe @usableFromInline package final class PageRoom: @unchecked Sendable {
  /// Bytes of a page.
  @usableFromInline package static let pageSize = 4096

  /// Where the first page lies; nil if the system had no room, and nothing is kept.
  @usableFromInline let base: UnsafeMutableRawPointer?
  /// One for each page, behind the pages: 1 when it is there.
  @usableFromInline let flags: UnsafeMutablePointer<Atomic<UInt8>>?
  @usableFromInline let count: Int
  private let length: Int
  /// How many pages may still be kept.
  private let left: Lock<Int>

  /// So many bytes of an index's pages are kept, the first that come: those of some five million
  /// records. Of more, a look-up may have to read a page anew.
  package static let bytesMax = 32 << 20

  /// Room for so many pages, of which nothing is taken until they are kept, `keeping` at most.
  package init(pages: Int, keeping: Int = PageRoom.bytesMax / PageRoom.pageSize) {
    left = Lock(max(0, keeping))
    let (size, isTooLarge) = pages.multipliedReportingOverflow(by: Self.pageSize + 1)
    guard pages > 0, !isTooLarge, let found = unsafe MemoryRoom.reserve(size) else {
      unsafe (base, flags, count, length) = (nil, nil, 0, 0)
      return
    }
    unsafe base = found
    unsafe flags = (found + pages * Self.pageSize)
      .bindMemory(to: Atomic<UInt8>.self, capacity: pages)
    count = pages
    length = size
  }

  deinit {
    if let base = unsafe base { unsafe MemoryRoom.release(base, length) }
  }

  /// Whether a page is there.
  @inlinable @inline(always)
  package func holds(_ page: Int) -> Bool {
    guard page >= 0, page < count, let flags = unsafe flags else { return false }
    return unsafe flags[page].load(ordering: .acquiring) != 0
  }

  /// Four bytes of a page that is there, little-endian.
  @inlinable @inline(always)
  package func u32(_ page: Int, at offset: Int) -> UInt32 {
    let place = unsafe place(page, offset, 4)
    return unsafe UInt32(littleEndian: place.loadUnaligned(as: UInt32.self))
  }

  /// Eight bytes of a page that is there, little-endian.
  @inlinable @inline(always)
  package func u64(_ page: Int, at offset: Int) -> UInt64 {
    let place = unsafe place(page, offset, 8)
    return unsafe UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
  }

  @inlinable @inline(always)
  func place(_ page: Int, _ offset: Int, _ size: Int) -> UnsafeMutableRawPointer {
    precondition(offset >= 0 && offset &+ size <= Self.pageSize && page >= 0 && page < count)
    // Where there are pages, there is a base.
    return unsafe base.unsafelyUnwrapped + (page &* Self.pageSize &+ offset)
  }

  /// Keeps a page, if there is room. One that is always kept does not count among the others.
  package func keep(_ page: Int, _ bytes: [UInt8], always isAlways: Bool = false) {
    guard page >= 0, page < count, bytes.count == Self.pageSize, let flags = unsafe flags,
      let base = unsafe base
    else { return }
    left.withLock { left in
      // Whoever looks at it sees the same bytes.
      if unsafe flags[page].load(ordering: .acquiring) != 0 || (left == 0 && !isAlways) { return }
      if !isAlways { left -= 1 }
      unsafe bytes.withUnsafeBytes { source in
        if let from = source.baseAddress {
          unsafe (base + page * Self.pageSize).copyMemory(from: from, byteCount: bytes.count)
        }
      }
      unsafe flags[page].store(1, ordering: .releasing)
    }
  }
}
