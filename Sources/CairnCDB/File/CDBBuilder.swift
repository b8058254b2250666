internal import Cairn
internal import CairnBytes
internal import CairnDisk

/// Writes one cdb file from front to back, under a name of its own until it is whole.
///
/// The tables are those of the original: for each of 256, twice as many slots as records, filled in
/// the order of the records, each in the first slot that is free. So the bytes are the same as
/// those of the other tools.
struct CDBBuilder {
  let disk: any Disk
  /// The name that the file is going to have.
  let path: String
  /// The name that it has so far.
  private(set) var temporary: String
  private(set) var format: CDBFormat
  private(set) var file: any DiskFile
  private let mayWiden: Bool
  private let isPrivate: Bool
  private let largest: UInt64
  private let random: any RandomSource

  var buffer: [UInt8] = []
  /// Where `buffer` goes in the file.
  private var written: UInt64 = 0
  /// What the tables hold: hash and position of each record, in one number if both have 32 bits.
  private(set) var entries: [UInt64] = []
  private(set) var records = 0
  /// The length of the whole file, once it is sealed.
  var size: UInt64 = 0

  static let bufferSize = 256 << 10

  /// Makes the file. A file that is there under its last name and that nobody else may read stays
  /// such a one; what is there and no file, a link or a device, is refused.
  ///
  /// - Parameters:
  ///   - format: nil begins with `cdb` and goes over to `cdb64` when the file gets too large.
  ///   - largest32: how large a file with numbers of 32 bits may be.
  init(
    _ path: String, machine: Machine, format: CDBFormat?, largest32: UInt64
  ) throws(CairnError) {
    self.path = path
    disk = machine.disk
    random = machine.random
    self.format = format ?? .cdb
    mayWiden = format == nil
    largest = largest32
    try Self.requireFile(path, disk)
    isPrivate = Self.isPrivate(path, disk)
    (temporary, file) = try Self.create(path, disk, random, isPrivate: isPrivate)
    begin()
  }

  private static func requireFile(_ path: String, _ disk: any Disk) throws(CairnError) {
    let info: FileInfo?
    do { info = try disk.info(path) } catch { throw .disk(error, path) }
    guard info?.kind == .other else { return }
    throw CairnError(
      .disallowed,
      "\"\(path)\" is a link, a pipe or a device, and is not replaced by a cdb file; name a file",
      file: path)
  }

  private static func isPrivate(_ path: String, _ disk: any Disk) -> Bool {
    // Anything else that is wrong with the old file is nothing to the new one.
    guard let file = try? disk.open(path, .readPrivate) else { return false }
    file.close()
    return true
  }

  private static func create(
    _ path: String, _ disk: any Disk, _ random: any RandomSource, isPrivate: Bool
  ) throws(CairnError) -> (String, any DiskFile) {
    let temporary = CDBTemporary.path(for: path, random.next())
    do {
      return (temporary, try disk.open(temporary, isPrivate ? .createPrivate : .create))
    } catch { throw .disk(error, path) }
  }

  private mutating func begin() {
    buffer.reserveCapacity(Self.bufferSize)
    buffer = [UInt8](repeating: 0, count: format.headerSize)
    written = 0
    entries = []
  }

  /// Where the next record begins.
  var position: UInt64 { written + UInt64(buffer.count) }

  // MARK: records

  /// Begins a record, whose key and value follow in parts.
  mutating func begin(
    keyLength: UInt64, valueLength: UInt64, hash full: UInt64
  ) throws(CairnError) {
    try makeRoom(keyLength, valueLength)
    let hash = format.hash(full)
    if format == .cdb {
      entries.append(hash | position << 32)
      buffer.put(keyLength | valueLength << 32)
    } else {
      entries.append(hash)
      entries.append(position)
      buffer.put(keyLength)
      buffer.put(valueLength)
    }
    records += 1
  }

  /// A part of a key or value.
  mutating func append(_ bytes: Span<UInt8>) throws(CairnError) {
    if bytes.count >= Self.bufferSize {
      try flush()
      try write(bytes)
      return
    }
    buffer.put(bytes)
    if buffer.count >= Self.bufferSize { try flush() }
  }

  mutating func append(_ bytes: [UInt8], _ range: Range<Int>) throws(CairnError) {
    try append(bytes.span.extracting(range))
  }

  mutating func add(_ key: Span<UInt8>, _ value: Span<UInt8>) throws(CairnError) {
    try begin(
      keyLength: UInt64(key.count), valueLength: UInt64(value.count), hash: CDBHash.full(key))
    try append(key)
    try append(value)
  }

  /// Sees to it that the file can hold one more record and its two slots.
  private mutating func makeRoom(_ key: UInt64, _ value: UInt64) throws(CairnError) {
    if fits(key, value) { return }
    if format == .cdb, mayWiden {
      try widen()
      if fits(key, value) { return }
    }
    throw CairnError(
      .sizeLimit,
      "\"\(path)\" would be larger than \(limit) bytes, the limit of its format "
        + "(\(format.rawValue)); \(format == .cdb ? "write it as cdb64" : "split it")", file: path)
  }

  private var limit: UInt64 {
    format == .cdb ? min(largest, format.largestFile) : format.largestFile
  }

  private func fits(_ key: UInt64, _ value: UInt64) -> Bool {
    let pair = UInt64(format.pairSize)
    let tables = 2 * pair * (UInt64(records) + 1)
    var left = limit
    for part in [position, tables, pair, key, value] {
      if part > left { return false }
      left -= part
    }
    return true
  }

  // MARK: writing

  /// Writes what has gathered.
  mutating func flush() throws(CairnError) {
    // Taken out, as nobody else may touch it while it is looked at.
    var full: [UInt8] = []
    swap(&full, &buffer)
    try write(full.span)
    full.removeAll(keepingCapacity: true)
    swap(&full, &buffer)
  }

  private mutating func write(_ bytes: Span<UInt8>) throws(CairnError) {
    do { try file.write(bytes, at: written) } catch { throw .disk(error, path) }
    written += UInt64(bytes.count)
  }

  /// Begins anew with numbers of 64 bits, and copies what is there.
  private mutating func widen() throws(CairnError) {
    try flush()
    let (old, oldName, end) = (file, temporary, written)
    (temporary, file) = try Self.create(path, disk, random, isPrivate: isPrivate)
    defer { CDBTemporary.discard(oldName, on: disk) }
    format = .cdb64
    records = 0
    begin()
    let source: FileBytes
    // Closes the old file when it is done.
    do { source = try FileBytes(old, budget: 0) } catch { throw .disk(error, path) }
    var walk = CDBWalk(source, path: path, format: .cdb, end: end)
    while let record = try walk.next() { try copy(record, &walk) }
  }

  /// Copies a record as it is.
  mutating func copy(_ record: CDBRecord, _ walk: inout CDBWalk) throws(CairnError) {
    let hash = try walk.withBytes(record.keyStart, record.keyLength) { bytes, range in
      CDBHash.full(bytes, range)
    }
    try copy(record, hash: hash, &walk)
  }

  mutating func copy(
    _ record: CDBRecord, hash: UInt64, _ walk: inout CDBWalk
  ) throws(CairnError) {
    try begin(keyLength: record.keyLength, valueLength: record.valueLength, hash: hash)
    var offset = record.keyStart
    while offset < record.end {
      let length = min(UInt64(Self.bufferSize), record.end - offset)
      let (bytes, range) = try walk.withBytes(offset, length) { ($0, $1) }
      try append(bytes, range)
      offset += length
    }
  }
}
