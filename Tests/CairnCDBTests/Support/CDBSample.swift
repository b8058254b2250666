import Cairn
import CairnCDB
import CairnDisk
import TestSupport

/// Records, and files that hold them.
enum CDBSample {
  typealias Record = (key: [UInt8], value: [UInt8])

  static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  static func golden(_ name: String) throws -> [UInt8] {
    try ProjectFile.bytes("Tests/CairnCDBTests/Golden/\(name)")
  }

  /// The records of a text.
  static func records(_ text: [UInt8]) throws -> [Record] {
    var text = CDBText(text)
    var records: [Record] = []
    while let record = try text.next() {
      records.append((Array(text.bytes[record.key]), Array(text.bytes[record.value])))
    }
    return records
  }

  static func text(_ records: [Record]) -> [UInt8] {
    var text: [UInt8] = []
    for record in records { CDBText.append(record.key, record.value, to: &text) }
    CDBText.appendEnd(to: &text)
    return text
  }

  /// Few keys, so that some come again; some empty.
  static func random(_ count: Int, _ random: SeededRandom) -> [Record] {
    (0..<count).map { _ in
      (random.bytes(random.below(4) * random.below(8)), random.bytes(random.below(60)))
    }
  }

  /// The bytes of a file with these records.
  static func file(
    _ records: [Record], _ format: CDBFormat = .cdb, disk: MemoryDisk = MemoryDisk()
  ) throws -> [UInt8] {
    let writer = try CDBWriter("/f", machine: machine(disk), format: format)
    for record in records { try writer.add(record.key, record.value) }
    try writer.finish()
    return try content("/f", disk)
  }

  static func content(_ path: String, _ disk: any Disk) throws -> [UInt8] {
    let file = try disk.open(path, .read)
    defer { file.close() }
    return try file.read(at: 0, count: Int(try file.size()))
  }

  static func machine(_ disk: any Disk, seed: UInt64 = 1) -> Machine {
    Machine(disk: disk, clock: ManualClock(), random: SeededRandom(seed))
  }

  static func all(_ file: CDBFile) throws -> [Record] {
    let cursor = try file.records()
    var records: [Record] = []
    while let record = try cursor.next() { records.append(record) }
    return records
  }

  static func isEqual(_ a: [Record], _ b: [Record]) -> Bool {
    a.count == b.count && zip(a, b).allSatisfy { $0.key == $1.key && $0.value == $1.value }
  }
}

extension CDBFile {
  /// A file that is these bytes.
  convenience init(
    bytes: [UInt8], format: CDBFormat? = nil, cacheBytes: Int = 1 << 20
  ) throws(CairnError) {
    try self.init(
      file: BytesFile(bytes), path: "/bytes", format: format, cacheBytes: cacheBytes)
  }
}
