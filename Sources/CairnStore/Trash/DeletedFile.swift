import CairnBytes
package import CairnLog
import CairnMerge

/// A file of a datastore's trash: the records, or some of them, that one sync was about to delete
/// for other devices.
///
///     "CAIRNDEL" · version u16 · floor u16 · zero u32 · datastore u128 · time u64 ·
///     not kept varint · count varint · for each record: device u64 · sequence varint ·
///     table string · id string · count varint · (field string · type u8 ·
///     [word u64 | blob])* · XXH3-64 of everything before
package struct DeletedFile: Sendable, Equatable {
  package static let magic: [UInt8] = Array("CAIRNDEL".utf8)
  /// No file is larger.
  package static let bytesMax = RecordTrash.fileBytesMax + 4096

  /// Where its time is.
  static let timeOffset: UInt64 = 32

  package var datastore: UInt128
  package var time: Int64
  /// Records that were deleted, too, and did not fit.
  package var notKept: UInt64
  package var records: [KeptRecord]

  package init(datastore: UInt128, time: Int64, notKept: UInt64, records: [KeptRecord]) {
    self.datastore = datastore
    self.time = time
    self.notKept = notKept
    self.records = records
  }

  package func encoded() -> [UInt8] {
    var content: [UInt8] = []
    for record in records { DeletedFile.put(record, into: &content) }
    return DeletedFile.encoded(
      datastore: datastore, time: time, notKept: notKept, count: records.count, content: content)
  }

  /// The same of records of which there are the bytes.
  static func encoded(
    datastore: UInt128, time: Int64, notKept: UInt64, count: Int, content: [UInt8]
  ) -> [UInt8] {
    var out = SealedFile.begin(DeletedFile.magic)
    out.put(UInt64(truncatingIfNeeded: datastore))
    out.put(UInt64(truncatingIfNeeded: datastore >> 64))
    out.put(UInt64(bitPattern: time))
    out.putVarint(notKept)
    out.putVarint(count)
    out.append(contentsOf: content)
    SealedFile.seal(&out)
    return out
  }

  /// One record's bytes.
  static func put(_ record: KeptRecord, into out: inout [UInt8]) {
    out.put(record.dot.device.rawValue)
    out.putVarint(record.dot.sequence)
    out.putString(record.table)
    out.putString(record.id.text)
    out.putVarint(record.fields.count)
    for field in record.fields {
      out.putString(field.name)
      var heap: [UInt8] = []
      let cell = Cell(field.value, heap: &heap)
      out.put(cell.tag)
      if CellTag.isHeap(cell.tag) {
        out.putBlob(heap)
      } else if cell.tag >= CellTag.int {
        out.put(cell.word)
      }
    }
  }

  /// Length, magic, checksum, version, structure.
  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: DeletedFile.magic, least: 26, what: "a file of deleted records", path: path)
    records = []
    do throws(DecodeError) {
      datastore = try reader.hash()
      time = Int64(bitPattern: try reader.u64())
      notKept = try reader.varint()
      for _ in 0..<(try reader.count(minimumSize: 13)) {
        records.append(try DeletedFile.record(&reader, time))
      }
      guard reader.isAtEnd else { throw .malformed("bytes behind the last record") }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "deleted records") }
  }

  /// One that has to be a datastore's.
  package init(_ bytes: [UInt8], path: String, of datastore: UInt128) throws(LogError) {
    try self.init(bytes, path: path)
    guard self.datastore == datastore else {
      throw LogError(.foreign, path, at: 16, "it belongs to another datastore")
    }
  }

  private static func record(
    _ reader: inout ByteReader, _ time: Int64
  ) throws(DecodeError) -> KeptRecord {
    let device = DeviceID(rawValue: try reader.u64())
    let dot = Dot(device: device, sequence: try reader.varint())
    let table = try reader.string()
    let id = try reader.string()
    guard Identifier.isValidTable(table), Identifier.isValidRecord(id) else {
      throw .malformed("a name breaks the id grammar")
    }
    var record = KeptRecord(dot: dot, time: time, table: table, id: RecordName(id), fields: [])
    for _ in 0..<(try reader.count(minimumSize: 3)) {
      let name = try reader.string()
      guard Identifier.isValidField(name) else { throw .malformed("a field's name") }
      record.fields.append(KeptRecord.Field(name: name, value: try value(&reader)))
    }
    return record
  }

  private static func value(_ reader: inout ByteReader) throws(DecodeError) -> FieldValue {
    let tag = try reader.u8()
    switch tag {
    case CellTag.no: return .bool(false)
    case CellTag.yes: return .bool(true)
    case CellTag.int: return .int(Int64(bitPattern: try reader.u64()))
    case CellTag.double: return .double(Double(bitPattern: try reader.u64()))
    case CellTag.date: return .date(Int64(bitPattern: try reader.u64()))
    case CellTag.string: return .string(try reader.string())
    case CellTag.bytes: return .bytes(Array(reader.bytes[try reader.blob()]))
    case CellTag.list: return .list(try ListCoding.decode(reader.bytes, try reader.blob()))
    default: throw .malformed("unknown type of a value")
    }
  }
}
