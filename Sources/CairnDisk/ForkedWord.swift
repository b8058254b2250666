internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// A word of memory that is nought in every new child of this process.
///
/// On Linux it has a page to itself that the system empties in children, whoever makes them and
/// how: the C library's own notices of a fork are not for children by `_Fork` or `clone`. Elsewhere
/// those notices have to do.
// Unchecked: the word is only touched atomically, and is never given back.
@safe final class ForkedWord: @unchecked Sendable {
  static let shared = unsafe ForkedWord(page: page())

  private let place: UnsafeMutablePointer<Atomic<Int>>
  /// False if nobody could be asked to empty it.
  let isEmptied: Bool
  /// How many processes on the way here have asked.
  private static let last = Atomic<Int>(0)

  /// Without a page of its own it is emptied by the C library's notices, if it is the shared one.
  init(page: UnsafeMutableRawPointer?) {
    if let page = unsafe page {
      // A page full of zeros is a word that is nought.
      unsafe place = page.bindMemory(to: Atomic<Int>.self, capacity: 1)
      isEmptied = true
      return
    }
    unsafe place = .allocate(capacity: 1)
    unsafe place.initialize(to: Atomic(0))
    // In the child nothing else can run yet.
    isEmptied = pthread_atfork(nil, nil) { ForkedWord.shared.empty() } == 0
  }

  /// A page that the system empties in children, or nil if it knows no such advice.
  static func page(_ advice: Int32 = wipeOnFork) -> UnsafeMutableRawPointer? {
    let length = 4096
    guard let page = unsafe MemoryRoom.reserve(length) else { return nil }
    if unsafe madvise(page, length, advice) == 0 { return unsafe page }
    unsafe MemoryRoom.release(page, length)
    return nil
  }

  #if canImport(Glibc)
    private static let wipeOnFork = MADV_WIPEONFORK
  #else
    private static let wipeOnFork: Int32 = -1
  #endif

  func empty() { unsafe place.pointee.store(0, ordering: .relaxed) }

  var value: Int { unsafe place.pointee.load(ordering: .relaxed) }

  /// The number that the word has in this process, and in none that this one comes from.
  func generation() -> Int {
    let known = value
    if known != 0 { return known }
    let next = ForkedWord.last.add(1, ordering: .relaxed).newValue
    // Another thread may have been first; the number is then the one that it gave.
    _ = unsafe place.pointee.compareExchange(expected: 0, desired: next, ordering: .relaxed)
    return value
  }
}
