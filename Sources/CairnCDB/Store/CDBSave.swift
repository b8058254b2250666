internal import Cairn
internal import CairnBytes
internal import CairnDisk

/// One save of a store: the old file with the changes laid over it, written beside it.
struct CDBSave {
  private struct Entry {
    var key: [UInt8]
    /// Nil if the key is removed.
    var stored: [UInt8]?
    var isWritten = false
  }

  /// In the order in which keys were added.
  private var entries: [Entry] = []
  /// The entries by the hash of their keys.
  private var byHash: [UInt64: [Int]] = [:]

  /// Encodes the changes.
  init<Key: Sendable, Value: Sendable>(
    _ changes: [CDBChange<Key, Value>], values: CDBValueCoding<Value>
  ) throws(CairnError) {
    for change in changes {
      let stored = try change.stored(values)
      byHash[CDBHash.full(change.name.span), default: []].append(entries.count)
      entries.append(Entry(key: change.name, stored: stored))
    }
  }

  /// Writes the file and puts it in its place. Returns it, opened.
  ///
  /// - Parameter placed: what the directory says about the new file, from when it has its name.
  mutating func run(
    _ old: CDBFile?, seen: FileInfo?, placed: inout FileInfo?, path: String, options: CDBOptions,
    machine: Machine, largest32: UInt64
  ) throws(CairnError) -> CDBFile {
    // Now, too: in vain a whole file would be written, and by the next try again.
    try Self.checkUnchanged(path, seen, machine.disk)
    CDBTemporary.sweep(path, machine)
    let format = try Self.format(old, options)
    var builder = try CDBBuilder(path, machine: machine, format: format, largest32: largest32)
    do throws(CairnError) {
      if let old { try copy(old, into: &builder) }
      for entry in entries where !entry.isWritten {
        if let stored = entry.stored { try builder.add(entry.key.span, stored.span) }
      }
      try builder.seal()
      // Opened before it has its name: what can't be opened again must not take it.
      let file = try CDBFile(
        file: builder.file, path: path, format: builder.format == .cdb ? .cdb : .cdb64,
        cacheBytes: options.cacheBytes)
      try builder.sync()
      let info = try builder.info()
      try Self.checkUnchanged(path, seen, machine.disk)
      try builder.rename()
      placed = info
      try builder.syncName()
      return file
    } catch {
      builder.discard()
      throw error
    }
  }

  /// What is asked for; else what the file has, which may become wider.
  private static func format(
    _ old: CDBFile?, _ options: CDBOptions
  ) throws(CairnError) -> CDBFormat? {
    if let format = options.format { return format }
    guard let old, old.format != .cdb else { return nil }
    return try old.usesHash32() ? .cdb64Hash32 : .cdb64
  }

  private mutating func copy(_ old: CDBFile, into builder: inout CDBBuilder) throws(CairnError) {
    try old.checkWalkIsWhole()
    var walk = CDBWalk(old)
    var places = CDBPlaces(old)
    while let record = try walk.next() {
      // With a slot it would be the value of the empty key.
      if try old.isErased(record, &walk, &places) { continue }
      let (hash, index) = try walk.withBytes(record.keyStart, record.keyLength) { bytes, range in
        let hash = CDBHash.full(bytes, range)
        return (hash, place(hash, bytes, range))
      }
      guard let index else {
        try builder.copy(record, hash: hash, &walk)
        continue
      }
      // Further values of a key that was set or removed go with the first one.
      if entries[index].isWritten { continue }
      entries[index].isWritten = true
      let entry = entries[index]
      if let stored = entry.stored { try builder.add(entry.key.span, stored.span) }
    }
  }

  private func place(_ hash: UInt64, _ bytes: [UInt8], _ range: Range<Int>) -> Int? {
    byHash[hash]?.first { index in
      let key = entries[index].key
      return key.equal(0..<key.count, bytes, range)
    }
  }

  /// Nobody else's file is written over.
  private static func checkUnchanged(
    _ path: String, _ seen: FileInfo?, _ disk: any Disk
  ) throws(CairnError) {
    let now: FileInfo?
    do { now = try disk.info(path) } catch { throw CairnError(error) }
    if now == seen { return }
    throw CairnError(
      .disallowed,
      "\"\(path)\" was replaced or removed by somebody else since it was opened; call reload() to "
        + "lay the changes over what is there now, and save again", file: path)
  }
}

extension CDBFile {
  /// Throws if a table points to where no walk comes: searches may find a record there, behind
  /// tables that do not lie at the end, and a copy would not have it.
  func checkWalkIsWhole() throws(CairnError) {
    if layout.isExact { return }
    var slots = CDBWalk(bytes, path: path, format: format, end: size)
    for table in layout.tables {
      for number in 0..<table.slots {
        let place = table.start + number * layout.pairSize
        let position = try slots.withBytes(place, layout.pairSize) { bytes, range in
          format == .cdb
            ? UInt64(bytes.u32(at: range.lowerBound + 4)) : bytes.u64(at: range.lowerBound + 8)
        }
        guard position < layout.recordsEnd else {
          throw .damaged(path, position, "a table points there, behind where the records end")
        }
      }
    }
  }

  /// Whether a file with numbers of 64 bits has hashes of 32: what the first long key tells.
  func usesHash32() throws(CairnError) -> Bool {
    guard format == .cdb64 else { return false }
    var walk = CDBWalk(self)
    while let record = try walk.next() {
      let key = try walk.copy(record.keyStart, record.keyLength)
      let full = CDBHash.full(key.span)
      guard full > 0xFFFF_FFFF else { continue }
      var probe = CDBProbe(layout, hash: full)
      return try next(&probe, key.span) == nil
    }
    return false
  }
}
