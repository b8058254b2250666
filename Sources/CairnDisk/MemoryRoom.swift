#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Memory in large pages, to be filled by one thread and then read by any.
// Unchecked: it is written to before any other thread knows of it.
@safe final class MemoryRoom: @unchecked Sendable {
  /// Where it begins.
  let start: UnsafeRawPointer
  private let base: UnsafeMutableRawPointer
  private let length: Int

  /// A large page of most machines: the room begins with one.
  private static let largePage = 2 << 20

  /// Nil if there is no room.
  init?(_ count: Int) {
    length = count + Self.largePage
    guard let found = unsafe Self.reserve(length) else { return nil }
    unsafe base = found
    unsafe start = UnsafeRawPointer(found).alignedUp(toMultipleOf: Self.largePage)
    #if canImport(Glibc)
      // Only for speed: a system that has none goes on with small pages.
      _ = unsafe madvise(found, length, MADV_HUGEPAGE)
    #endif
  }

  deinit { unsafe Self.release(base, length) }

  /// Copies bytes to a place, which must be inside.
  func write(_ bytes: [UInt8], at offset: Int) {
    let place = unsafe base + (start - UnsafeRawPointer(base)) + offset
    unsafe bytes.withUnsafeBytes { source in
      if let from = source.baseAddress {
        unsafe place.copyMemory(from: from, byteCount: bytes.count)
      }
    }
  }

  /// Memory full of zeros, of which nothing is taken until it is written to.
  static func reserve(_ length: Int) -> UnsafeMutableRawPointer? {
    #if canImport(Glibc)
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    #endif
    let found = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, flags, -1, 0)
    return unsafe found == MAP_FAILED ? nil : found
  }

  static func release(_ base: UnsafeMutableRawPointer, _ length: Int) {
    unsafe munmap(base, length)
  }
}
