import Cairn
import CairnCDB
import CairnDisk
import CairnFuzzBytes
import CairnFuzzStore
import TestSupport

/// `form u8 · bytes`: a cdb file in any format, a text, or a value of a store.
enum CDBEntry {
  static func run(_ bytes: [UInt8]) throws {
    guard let form = bytes.first else { return }
    let body = Array(bytes.dropFirst())
    switch form % 5 {
    case 0: try text(body)
    case 1: try file(body, .cdb, cacheBytes: 1 << 20)
    case 2: try file(body, .cdb64, cacheBytes: 0)
    case 4: try value(body)
    default: try file(body, nil, cacheBytes: 20_000)
    }
  }

  private static func file(_ bytes: [UInt8], _ format: CDBFormat?, cacheBytes: Int) throws {
    let disk = OneFileDisk(bytes)
    guard
      let file = try? CDBFile(disk: disk, path: "/f", format: format, cacheBytes: cacheBytes),
      let records = try? file.records()
    else { return }
    _ = try? file.statistics()
    _ = try? file.values(for: [])
    while let record = try? records.next() {
      // Whether a table leads to it or not: nothing that is not in the file comes back.
      guard let found = try? file.values(for: record.key) else { continue }
      try FuzzFinding.check(
        found.allSatisfy { $0.count <= bytes.count }, "a value larger than its file")
      // The search for one value is another than that for all. Tables may name it in any order.
      guard let first = try? file.value(for: record.key) else { continue }
      try FuzzFinding.check(found.contains(first), "a value that the key does not have")
    }
  }

  /// What is read and written is the same text.
  private static func text(_ bytes: [UInt8]) throws {
    var text = CDBText(bytes)
    var written: [UInt8] = []
    do throws(CairnError) {
      while let record = try text.next() {
        CDBText.append(Array(bytes[record.key]), Array(bytes[record.value]), to: &written)
      }
    } catch { return }
    CDBText.appendEnd(to: &written)
    var again = CDBText(written)
    while (try? again.next()) != nil {}
    try FuzzFinding.check(again.offset == written.count - 1, "a text that can't be read again")
  }

  /// All that a `Codable` type can ask for.
  private struct Sample: Codable, Sendable {
    var integers: [Int64]?
    var largest: UInt64?
    var small: Int8?
    var text: String?
    var fractions: [Double]?
    var bytes: [UInt8]?
    var isOn: Bool?
    var inner: [Sample?]?
    var named: [String: Sample]?
  }

  /// What a store can read of a value it writes, and reads again as the same.
  private static func value(_ bytes: [UInt8]) throws {
    let machine = Machine(disk: MemoryDisk(), clock: ManualClock(), random: SeededRandom(1))
    let writer = try CDBWriter("/f", machine: machine)
    try writer.add([0], [4] + bytes)
    try writer.finish()
    let store = CDBStore<[UInt8], Sample>(
      "/f", keys: .bytes, values: .codable, machine: machine, delay: .real)
    try store.open()
    guard let value = try? store.value(for: [0]) else { return }
    let written = try CDBTaggedBytes.encoded(value)
    let again = try CDBTaggedBytes.encoded(try written.decoded(as: Sample.self))
    try FuzzFinding.check(again == written, "a value that is another one when it is read again")
  }
}
