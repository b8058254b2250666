public import Cairn
internal import CairnDisk

/// Where a value is that was looked up.
// Usable from inline, as the code that calls `withValue` sees it.
@safe @usableFromInline enum CDBLook {
  /// The value lies here, as long as the file's object lives.
  case inMemory(UnsafeBufferPointer<UInt8>)
  /// The value is not kept in memory.
  case copy([UInt8])
}

extension CDBFile {
  /// Shows the first value of a key where it lies: a copy is made only if the value is not kept.
  ///
  /// - Returns: what `body` returns; nil if there is no such key.
  /// - Throws: what `body` throws, `corrupt`, `closed`, and what the disk says.
  @inlinable
  public func withValue<R>(
    for key: Span<UInt8>, _ body: (Span<UInt8>) throws(CairnError) -> R
  ) throws(CairnError) -> R? {
    // Inlined into the caller, and `body` with it: `look` is all that is called.
    defer { withExtendedLifetime(self) {} }
    switch try look(key) {
    case nil: return nil
    case .inMemory(let value)?: return try unsafe body(value.span)
    case .copy(let value)?: return try body(value.span)
    }
  }

  /// The same for a record that was found.
  func withValue<R>(
    of record: CDBRecord, _ body: (Span<UInt8>) throws(CairnError) -> R
  ) throws(CairnError) -> R {
    defer { withExtendedLifetime(self) {} }
    switch try look(at: record) {
    case .inMemory(let value): return try unsafe body(value.span)
    case .copy(let value): return try body(value.span)
    }
  }

  /// Finds the first value of a key. Not generic, so that it is optimised once for all.
  ///
  /// This is the search of a file all of which is in memory. It fetches nothing and says nothing:
  /// whatever is out of the ordinary is left to `find`, which searches anew and says what it is.
  @usableFromInline
  func look(_ key: Span<UInt8>) throws(CairnError) -> CDBLook? {
    guard let whole = unsafe bytes.start, isOpen else { return try lookCarefully(key) }
    let full = CDBHash.full(key)
    var probe = CDBProbe(layout, hash: layout.format.hash(full))
    let keyLength = UInt64(truncatingIfNeeded: key.count)
    var isSecond = false
    while true {
      while probe.left > 0 {
        // Tables lie in the file: `CDBLayout` has seen to that.
        let (hash, position) = unsafe pair(whole, probe.slot)
        if position == 0 { break }
        probe.advance()
        if hash != probe.hash { continue }
        guard let left = room(behind: position) else { return try lookCarefully(key) }
        let (length, valueLength) = unsafe pair(whole, position)
        if length != keyLength { continue }
        // From here on the key's own length is used, which nobody has to wait for.
        guard keyLength <= left, valueLength <= left &- keyLength else {
          return try lookCarefully(key)
        }
        let start = unsafe whole + Int(truncatingIfNeeded: position &+ layout.pairSize)
        if unsafe FileBytes.equal(start, key) {
          let value = unsafe (start + key.count).assumingMemoryBound(to: UInt8.self)
          let count = Int(truncatingIfNeeded: valueLength)
          return unsafe .inMemory(UnsafeBufferPointer(start: value, count: count))
        }
      }
      guard !isSecond, let other = Self.otherHash(full, layout.format) else { return nil }
      isSecond = true
      probe = CDBProbe(layout, hash: other)
    }
  }

  /// How many bytes follow behind the lengths of a record; nil if none can be there.
  @inline(__always)
  private func room(behind position: UInt64) -> UInt64? {
    guard position >= layout.headerSize, position < bytes.count else { return nil }
    let left = bytes.count &- position
    return left < layout.pairSize ? nil : left &- layout.pairSize
  }

  /// Two numbers: a slot, or the lengths of a record.
  @inline(__always)
  private func pair(_ whole: UnsafeRawPointer, _ offset: UInt64) -> (UInt64, UInt64) {
    let place = unsafe whole + Int(truncatingIfNeeded: offset)
    let first = unsafe UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
    if layout.format == .cdb { return (first & 0xFFFF_FFFF, first >> 32) }
    let second = unsafe place.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    return (first, UInt64(littleEndian: second))
  }

  /// The same in any file.
  @inline(never)
  private func lookCarefully(_ key: Span<UInt8>) throws(CairnError) -> CDBLook? {
    guard let record = try find(key) else { return nil }
    return try look(at: record)
  }

  /// Where the value of a record lies.
  private func look(at record: CDBRecord) throws(CairnError) -> CDBLook {
    // A length that is none is longer than any file.
    let length = Int(truncatingIfNeeded: record.valueLength)
    if let found = inMemory(record.valueStart, length) { return found }
    return try fetch(record)
  }

  private func inMemory(_ offset: UInt64, _ length: Int) -> CDBLook? {
    guard let place = unsafe bytes.place(offset, length) else { return nil }
    let start = unsafe place.assumingMemoryBound(to: UInt8.self)
    return unsafe .inMemory(UnsafeBufferPointer(start: start, count: length))
  }

  /// Reads a value that is not in memory yet, or not kept there.
  private func fetch(_ record: CDBRecord) throws(CairnError) -> CDBLook {
    guard let length = Int(exactly: record.valueLength) else {
      throw .damaged(path, record.position, "a value of \(record.valueLength) bytes")
    }
    if length > Self.largestRead { throw .tooLong(path, record.valueStart, length) }
    let copy: [UInt8]?
    do { copy = try bytes.fetch(record.valueStart, length) } catch { throw .disk(error, path) }
    if let copy {
      guard copy.count == length else { throw .cutShort(path, record.end) }
      return .copy(copy)
    }
    guard let found = inMemory(record.valueStart, length) else {
      throw .cutShort(path, record.end)
    }
    return found
  }
}
