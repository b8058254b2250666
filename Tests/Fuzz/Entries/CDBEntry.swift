import Cairn
import CairnCDB
import CairnDisk

/// `form u8 · bytes of a file`: a cdb file in any format, or a text.
enum CDBEntry {
  static func run(_ bytes: [UInt8]) throws {
    guard let form = bytes.first else { return }
    let body = Array(bytes.dropFirst())
    switch form % 4 {
    case 0: try text(body)
    case 1: try file(body, .cdb, cacheBytes: 1 << 20)
    case 2: try file(body, .cdb64, cacheBytes: 0)
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
}
