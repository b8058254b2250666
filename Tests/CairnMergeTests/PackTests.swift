import CairnBytes
import CairnMerge
import TestSupport
import Testing

struct PackTests {
  private func pack(
    seed: UInt64, first: UInt64 = 1, count: Int, records: Int = 6
  ) -> (bytes: [UInt8], contents: [DeltaContent]) {
    var sample = DeltaSample(seed: seed)
    var writer = PackWriter(device: sample.device, first: first)
    var map: [UInt32] = []
    var contents: [DeltaContent] = []
    for index in 0..<count {
      var delta = sample.next(records: records)
      delta.dot.sequence = first + UInt64(index)
      writer.append(delta, heap: sample.heap, names: sample.names, map: &map)
      contents.append(DeltaContent(delta, heap: sample.heap, names: sample.names))
    }
    return (writer.bytes(), contents)
  }

  private func read(_ bytes: [UInt8]) throws(DecodeError) -> [DeltaContent] {
    var reader = try PackReader(bytes)
    var delta = Delta()
    var contents: [DeltaContent] = []
    while try reader.next(into: &delta) {
      contents.append(DeltaContent(delta, heap: reader.heap, names: reader.records))
    }
    return contents
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `what goes into a pack comes out of it`(seed: UInt64) throws {
    let (bytes, contents) = pack(seed: seed, first: 1 + seed * 1_000, count: 9)
    #expect(try read(bytes) == contents)
    let header = try PackReader(bytes).header
    #expect(header.first == 1 + seed * 1_000 && header.last == header.first + 8)
  }

  @Test func `a pack cut out of a longer scope has names of its own`() throws {
    let (whole, contents) = pack(seed: 30, count: 10)
    var reader = try PackReader(whole)
    var delta = Delta()
    var map: [UInt32] = []
    var writer = PackWriter(device: reader.header.device, first: 6)
    while try reader.next(into: &delta) {
      if delta.dot.sequence < 6 { continue }
      writer.append(delta, heap: reader.heap, names: reader.records, map: &map)
    }
    #expect(writer.nextSequence == 11)
    #expect(try read(writer.bytes()) == Array(contents[5...]))
  }

  @Test func `a pack that is packed again is the same`() throws {
    let (bytes, _) = pack(seed: 31, count: 10)
    var reader = try PackReader(bytes)
    var delta = Delta()
    var map: [UInt32] = []
    var writer = PackWriter(device: reader.header.device, first: 1)
    while try reader.next(into: &delta) {
      writer.append(delta, heap: reader.heap, names: reader.records, map: &map)
    }
    #expect(writer.bytes() == bytes)
  }

  @Test func `a pack lies in the middle of other bytes`() throws {
    let (bytes, contents) = pack(seed: 32, count: 3)
    let around = [1, 2, 3] + bytes + [4, 5]
    var reader = try PackReader(around, 3..<(3 + bytes.count))
    var delta = Delta()
    for content in contents {
      #expect(try reader.next(into: &delta))
      #expect(DeltaContent(delta, heap: reader.heap, names: reader.records) == content)
    }
    #expect(try !reader.next(into: &delta))
  }

  /// Two deltas, each of which puts so many items into a list.
  private func lists(_ count: Int) -> [HandmadeDelta] {
    (1...UInt64(2)).map { sequence in
      var one = HandmadeDelta(DeviceID(rawValue: 7), sequence)
      one.add("t", records: ["r\(sequence)"], .splice)
      var splices = ListSplices()
      splices.steps = [ListSplices.Step(skipped: 0, deleted: 0, inserted: count)]
      splices.inserted = ListItems([FieldValue](repeating: .bool(true), count: count))
      one.delta.splices[0] = splices
      return one
    }
  }

  /// A bit can be an item, and a pack is decoded again with each opening.
  @Test func `all deltas of a pack put no more into lists than there is room for`() throws {
    let bytes = HandmadeDelta.pack(lists(3))
    for items in 4...7 {
      var reader = try PackReader(bytes, 0..<bytes.count, items: items)
      var delta = Delta()
      #expect(try reader.next(into: &delta))
      if items < 6 {
        #expect(throws: DecodeError.limit) { try reader.next(into: &delta) }
      } else {
        #expect(try reader.next(into: &delta))
        #expect(try !reader.next(into: &delta))
      }
    }
  }

  @Test func `whoever makes packs of a length counts items that take a bit, too`() {
    var writer = PackWriter(device: DeviceID(rawValue: 7), first: 1)
    for one in lists(5000) {
      var map: [UInt32] = []
      writer.append(one.delta, heap: one.heap, names: one.delta.newNames, map: &map)
    }
    #expect(writer.bytes().count < 2000)
    #expect(writer.byteCount == 20_000)
  }

  @Test func `every truncation is an error`() {
    let (bytes, contents) = pack(seed: 33, count: 4, records: 4)
    #expect(throws: DecodeError.self) { try read(bytes + [0]) }
    for length in 0..<bytes.count {
      #expect(throws: DecodeError.self, "\(length)") { try read(Array(bytes[..<length])) }
    }
    #expect(contents.count == 4)
  }

  @Test(arguments: 40..<46 as Range<UInt64>)
  func `flipped bits never trap`(seed: UInt64) {
    let (bytes, _) = pack(seed: seed, count: 3, records: 4)
    let step = max(1, bytes.count * 8 / 4_000)
    for bit in stride(from: Int(seed % 3), to: bytes.count * 8, by: step) {
      var bent = bytes
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      // Without the checksum around it, other content is a fair answer.
      _ = try? read(bent)
    }
  }

  @Test func `impossible ranges are refused`() {
    func header(_ device: UInt64, _ first: UInt64, _ count: UInt64) -> [UInt8] {
      var out: [UInt8] = []
      out.put(device)
      out.putVarint(first)
      out.putVarint(count)
      return out + [3, 0, 0, 0, 3, 0, 0, 0]
    }
    #expect(throws: Never.self) { try PackReader(header(1, 1, 2)) }
    #expect(throws: Never.self) { try PackReader(header(1, (1 << 62) - 2, 2)) }
    for bytes in [
      header(0, 1, 2), header(1, 0, 2), header(1, 1, 0), header(1, .max, 2),
      header(1, (1 << 62) - 1, 2),
      header(1, 1, 3), header(1, 1, .max),
    ] {
      #expect(throws: DecodeError.self) { try PackReader(bytes) }
    }
  }
}
