import CairnBytes
import CairnMerge
import TestSupport
import Testing

struct DeltaCodingTests {
  /// Each delta's bytes and what it says, in one scope.
  private func scope(
    seed: UInt64, count: Int, records: Int = 12
  ) -> [(bytes: [UInt8], content: DeltaContent)] {
    var sample = DeltaSample(seed: seed)
    var encoder = DeltaEncoder()
    return (0..<count).map { _ in
      let delta = sample.next(records: records)
      var bytes: [UInt8] = []
      encoder.encode(delta, heap: sample.heap, into: &bytes)
      return (bytes, DeltaContent(delta, heap: sample.heap, names: sample.names))
    }
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `random deltas come back as they were`(seed: UInt64) throws {
    var decoder = DeltaDecoder()
    var delta = Delta()
    for (bytes, content) in scope(seed: seed, count: 12) {
      var reader = ByteReader(bytes)
      try decoder.decode(&reader, dot: delta.dot, into: &delta)
      delta.dot = content.dot
      #expect(reader.isAtEnd)
      #expect(DeltaContent(delta, heap: bytes, names: decoder.records) == content)
    }
  }

  @Test(arguments: 100..<110 as Range<UInt64>)
  func `an encoder that goes on behind a decoder writes the same bytes`(seed: UInt64) throws {
    var sample = DeltaSample(seed: seed)
    var encoder = DeltaEncoder()
    var decoder = DeltaDecoder()
    var decoded = Delta()
    for _ in 0..<8 {
      let delta = sample.next()
      var resumed = DeltaEncoder(resuming: decoder)
      var bytes: [UInt8] = []
      var again: [UInt8] = []
      encoder.encode(delta, heap: sample.heap, into: &bytes)
      resumed.encode(delta, heap: sample.heap, into: &again)
      #expect(bytes == again)
      var reader = ByteReader(bytes)
      try decoder.decode(&reader, dot: decoded.dot, into: &decoded)
      // What was decoded is encoded the same, too.
      var copy = DeltaEncoder(resuming: DeltaDecoder())
      var first: [UInt8] = []
      if decoded.dot.sequence == 0 {
        decoded.dot = delta.dot
        decoded.newNames = decoder.records
        copy.encode(decoded, heap: bytes, into: &first)
        #expect(first == bytes)
      }
    }
  }

  @Test func `one changed field costs a few bytes`() {
    var sample = DeltaSample(seed: 1)
    _ = sample
    var delta = Delta()
    delta.time = 1_700_000_000_000
    var heap: [UInt8] = []
    delta.records = [Delta.RecordEntry(flags: Delta.Flags.insert, reference: 0)]
    delta.newNames = [.packed(1, 2)]
    let cell = Cell(.string("x"), heap: &heap)
    delta.rows = [0]
    delta.tags = [cell.tag]
    delta.words = [cell.word]
    delta.columns = [Delta.Column(field: "name", operation: .put, cells: 0..<1)]
    delta.sections = [Delta.Section(table: "tasks", records: 0..<1, columns: 0..<1)]
    var encoder = DeltaEncoder()
    var first: [UInt8] = []
    encoder.encode(delta, heap: heap, into: &first)
    delta.records[0] = Delta.RecordEntry(flags: 0, reference: 0)
    delta.newNames = []
    delta.time += 1_000
    var second: [UInt8] = []
    encoder.encode(delta, heap: heap, into: &second)
    #expect(second.count <= 16, "\(second.count) bytes")
    sample.heap = []
  }

  @Test(arguments: 200..<210 as Range<UInt64>)
  func `every truncation is an error`(seed: UInt64) {
    guard let (bytes, _) = scope(seed: seed, count: 1).first else { return }
    for length in 0..<bytes.count {
      var decoder = DeltaDecoder()
      var delta = Delta()
      var reader = ByteReader(bytes, 0..<length)
      #expect(throws: DecodeError.self, "\(length) of \(bytes.count)") {
        try decoder.decode(&reader, dot: delta.dot, into: &delta)
      }
    }
  }

  @Test(arguments: 400..<405 as Range<UInt64>)
  func `what a delta that can't be read has named is forgotten again`(seed: UInt64) throws {
    var sample = DeltaSample(seed: seed)
    var encoder = DeltaEncoder()
    var decoder = DeltaDecoder()
    var delta = Delta()
    for _ in 0..<4 {
      let mark = decoder.mark
      var (lost, lostEncoder) = (sample, encoder)
      let unread = lost.next(records: 3)
      var broken: [UInt8] = []
      lostEncoder.encode(unread, heap: lost.heap, into: &broken)
      // Whole, but for a byte too many: it has named all that it could.
      var whole = ByteReader(broken + [0])
      try decoder.decode(&whole, dot: unread.dot, into: &delta)
      #expect(!whole.isAtEnd && decoder.records == lost.names)
      decoder.goBack(to: mark)
      for length in stride(from: 0, to: broken.count, by: 7) {
        var reader = ByteReader(broken, 0..<length)
        #expect(throws: DecodeError.self, "\(length) of \(broken.count)") {
          try decoder.decode(&reader, dot: unread.dot, into: &delta)
        }
        decoder.goBack(to: mark)
      }
      #expect(decoder.records == sample.names)

      let good = sample.next(records: 3)
      var resumed = DeltaEncoder(resuming: decoder)
      var (bytes, again): ([UInt8], [UInt8]) = ([], [])
      encoder.encode(good, heap: sample.heap, into: &bytes)
      resumed.encode(good, heap: sample.heap, into: &again)
      #expect(again == bytes)
      var reader = ByteReader(bytes)
      try decoder.decode(&reader, dot: good.dot, into: &delta)
      #expect(reader.isAtEnd && decoder.records == sample.names)
      let content = DeltaContent(good, heap: sample.heap, names: sample.names)
      #expect(DeltaContent(delta, heap: bytes, names: decoder.records) == content)
    }
  }

  /// Cells take at least a bit each, records a byte.
  private func isBounded(_ delta: Delta, _ bytes: Int) -> Bool {
    delta.records.count <= bytes && delta.tags.count <= 8 * bytes
      && delta.rows.count <= 9 * bytes && delta.words.count <= 8 * bytes
  }

  @Test(arguments: 300..<312 as Range<UInt64>)
  func `bent bytes never trap, and what they make is bounded`(seed: UInt64) {
    let random = SeededRandom(seed)
    for (original, _) in scope(seed: seed, count: 1, records: 60) {
      for _ in 0..<3_000 {
        var bytes = original
        for _ in 0...random.below(3) {
          let place = random.below(bytes.count)
          bytes[place] = random.coin() ? UInt8(truncatingIfNeeded: random.next()) : bytes[place] ^ 1
        }
        check(bytes)
      }
    }
  }

  @Test func `every flipped bit of a delta is read or refused`() {
    for (original, _) in scope(seed: 9, count: 1, records: 8) {
      for bit in 0..<(original.count * 8) {
        var bytes = original
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        check(bytes)
      }
    }
  }

  @Test func `noise never traps`() {
    let random = SeededRandom(16)
    for _ in 0..<20_000 { check(random.bytes(random.below(80))) }
  }

  private func check(_ bytes: [UInt8]) {
    var decoder = DeltaDecoder()
    var delta = Delta()
    var reader = ByteReader(bytes)
    do {
      try decoder.decode(&reader, dot: delta.dot, into: &delta)
      // Whoever believes it can read every cell.
      _ = DeltaContent(delta, heap: bytes, names: decoder.records)
    } catch {}
    if !isBounded(delta, bytes.count) { Issue.record("\(delta.tags.count) cells of \(bytes)") }
  }
}
