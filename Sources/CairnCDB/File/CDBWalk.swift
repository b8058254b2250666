internal import Cairn
internal import CairnBytes
internal import CairnDisk

/// Goes through the records of a file from front to back, in large reads that nothing keeps.
struct CDBWalk {
  private let bytes: FileBytes
  private let path: String
  private let format: CDBFormat
  /// Where the records end.
  private let end: UInt64
  /// Where the next record begins.
  private(set) var position: UInt64
  private var buffer: [UInt8] = []
  /// Where `buffer` begins in the file.
  private var start: UInt64 = 0

  private static let readSize = 256 << 10

  init(_ bytes: FileBytes, path: String, format: CDBFormat, end: UInt64) {
    self.bytes = bytes
    self.path = path
    self.format = format
    self.end = end
    position = UInt64(format.headerSize)
  }

  init(_ file: CDBFile) {
    self.init(
      file.bytes, path: file.path, format: file.format, end: file.layout.recordsEnd)
  }

  /// The next record; nil at the end.
  mutating func next() throws(CairnError) -> CDBRecord? {
    guard position < end else { return nil }
    guard UInt64(format.pairSize) <= end - position else {
      throw .damaged(path, position, "the records end within the lengths of one")
    }
    let place = try need(position, format.pairSize)
    let (key, value) =
      format == .cdb
      ? (UInt64(buffer.u32(at: place)), UInt64(buffer.u32(at: place + 4)))
      : (buffer.u64(at: place), buffer.u64(at: place + 8))
    guard
      let record = CDBRecord(
        position: position, pairSize: format.pairSize, key: key, value: value, limit: end),
      Int(exactly: key) != nil, Int(exactly: value) != nil
    else { throw .damaged(path, position, "a record that ends behind the last one's end") }
    position = record.end
    return record
  }

  /// Shows a part of the file.
  mutating func withBytes<R>(
    _ offset: UInt64, _ length: UInt64, _ body: ([UInt8], Range<Int>) throws(CairnError) -> R
  ) throws(CairnError) -> R {
    let place = try need(offset, Int(clamping: length))
    return try body(buffer, place..<(place + Int(clamping: length)))
  }

  /// A copy of a part of the file.
  mutating func copy(_ offset: UInt64, _ length: UInt64) throws(CairnError) -> [UInt8] {
    try withBytes(offset, length) { bytes, range in Array(bytes[range]) }
  }

  /// Sees to it that a part is in the buffer; its place there.
  private mutating func need(_ offset: UInt64, _ length: Int) throws(CairnError) -> Int {
    if offset >= start, offset - start <= UInt64(buffer.count),
      length <= buffer.count - Int(offset - start)
    {
      return Int(offset - start)
    }
    if length > CDBFile.largestRead { throw .tooLong(path, offset, length) }
    let wanted = max(length, Int(min(UInt64(Self.readSize), end - min(offset, end))))
    do { buffer = try bytes.read(offset, wanted) } catch { throw .disk(error, path) }
    start = offset
    guard buffer.count >= length else { throw .cutShort(path, offset + UInt64(length)) }
    return 0
  }
}
