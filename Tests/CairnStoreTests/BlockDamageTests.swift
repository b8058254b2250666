import CairnBytes
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

/// A block's checksum was right, its content is not: read or refused, never a trap.
struct BlockDamageTests {
  private func sample() -> [UInt8] {
    var sample = BlockSample()
    let state = RecordState(presences: [Presence(stamp: stamp(1, 1), born: [])])
    let rows = (0..<9).map { index in
      var fields: [(String, FieldValue?, Stamp)] = [
        ("bits", .bool(index % 2 == 0), .settled), ("int", .int(Int64(index * 300)), stamp(1, 5)),
        ("list", .list([.int(Int64(index)), .string("é")]), .settled),
        ("mix", index == 3 ? .string("naïve") : .double(0.5), stamp(2, index + 1)),
        ("price", .double(Double(index) / 4), .settled), ("text", .string("tëxt"), .settled),
      ]
      if index == 4 { fields.append(("rare", .bytes([1, 2]), .settled)) }
      return SampleRow(
        .text("r\(index)"), presence: stamp(1, index + 1), fields,
        state: index == 8 ? state : nil)
    }
    return sample.block(rows)
  }

  /// Reads all of it, as every way of looking would.
  private func read(_ bytes: [UInt8]) throws {
    var numbers = FieldNumbers()
    let block = try Block(bytes, numbers: &numbers)
    for row in 0..<block.rowCount {
      _ = block.name(row).text
      _ = block.presence(row)
      _ = block.content(row, numbers)
      for column in block.columns { _ = block.stamp(row, column) }
      if let range = block.complexState(row) { _ = try? RecordStateCoding.decode(bytes, range) }
    }
  }

  @Test func `every truncation is an error`() throws {
    let bytes = sample()
    try read(bytes)
    for length in 0..<bytes.count {
      #expect(throws: DecodeError.self, "\(length)") { try read(Array(bytes[..<length])) }
    }
    #expect(throws: DecodeError.self) { try read(bytes + [0]) }
  }

  @Test func `no flipped bit traps`() {
    let bytes = sample()
    for bit in 0..<(bytes.count * 8) {
      var bent = bytes
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      // Other content under a good checksum is what somebody wrote.
      _ = try? read(bent)
    }
  }

  @Test func `no changed byte traps`() {
    let random = SeededRandom(21)
    let bytes = sample()
    for _ in 0..<6_000 {
      var bent = bytes
      for _ in 0...random.below(3) {
        bent[random.below(bent.count)] = UInt8(truncatingIfNeeded: random.next())
      }
      _ = try? read(bent)
    }
  }

  @Test func `a text may not end within a character`() {
    var sample = BlockSample()
    var bytes = sample.block([
      SampleRow(.packed(0, 1), settled: [("f", .string("é"))]),
      SampleRow(.packed(0, 2), settled: [("f", .string("é"))]),
    ])
    #expect(throws: Never.self) { try read(bytes) }
    // The ends are 2 and 4; the first is moved into the character.
    let ends = bytes.count - 10
    #expect(Array(bytes[ends..<(ends + 4)]) == [2, 0, 4, 0])
    bytes[ends] = 1
    #expect(throws: DecodeError.malformed("a text ends within a character")) { try read(bytes) }
  }

  @Test func `columns are sorted and named by the grammar`() {
    var sample = BlockSample()
    let good = sample.block([SampleRow(.packed(0, 1), settled: [("a", .int(1)), ("b", .int(2))])])
    for (from, to) in [("b", "a"), ("a", "b"), ("a", " "), ("b", "%")] {
      var bent = good
      if let place = bent.firstIndex(of: Array(from.utf8)[0]) { bent[place] = Array(to.utf8)[0] }
      #expect(throws: DecodeError.malformed("a column's name")) { try read(bent) }
    }
  }
}
