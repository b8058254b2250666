import CairnDisk
import TestSupport
import Testing

@Suite struct FileBytesTests {
  private let disk = MemoryDisk()

  private func file(_ bytes: [UInt8]) throws -> any DiskFile {
    let file = try disk.open("/f", .create)
    try file.write(bytes.span, at: 0)
    return file
  }

  @Test func `what was fetched lies there`() throws {
    let content = SeededRandom(1).bytes(50_000)
    let bytes = try FileBytes(file(content), budget: 1 << 20)
    #expect(bytes.count == 50_000)
    #expect(!bytes.holds(0, 1))
    #expect(bytes.u32(at: 0) == nil)
    let none = bytes.withSpan(at: 0, count: 1) { $0[0] }
    #expect(none == nil)
    // Over the border of two pieces.
    #expect(try bytes.fetch(16_380, 8) == nil)
    #expect(bytes.holds(0, 32_768))
    #expect(!bytes.holds(32_768, 1))
    let there = bytes.withSpan(at: 16_380, count: 8) { span in span.indices.map { span[$0] } }
    #expect(there == Array(content[16_380..<16_388]))
    #expect(bytes.u32(at: 16_382).map { UInt8(truncatingIfNeeded: $0) } == content[16_382])
    #expect(bytes.u64(at: 16_382).map { UInt8(truncatingIfNeeded: $0 >> 56) } == content[16_389])
    let key = Array(content[16_370..<16_400])
    #expect(bytes.equal(at: 16_370, key.span) == true)
    #expect(bytes.equal(at: 16_371, key.span) == false)
    #expect(bytes.equal(at: 40_000, key.span) == nil)
    // Read once.
    let reads = disk.reads
    #expect(try bytes.fetch(1, 30_000) == nil)
    #expect(disk.reads == reads)
  }

  @Test func `a piece that two read at once is kept once`() throws {
    let content = SeededRandom(2).bytes(50_000)
    let file = MeanwhileFile(try file(content))
    let bytes = try FileBytes(file, budget: 32_768)
    let isRead = Flag()
    file.meanwhile {
      isRead.raise()
      #expect(throws: Never.self) { try bytes.fetch(0, 20) }
    }
    #expect(try bytes.fetch(10, 20) == nil)
    #expect(isRead.isUp)
    #expect(bytes.equal(at: 10, content[10..<30].span) == true)
    #expect(bytes.equal(at: 10, [UInt8]().span) == true)
    // It counts once: there is room for just one more.
    #expect(try bytes.fetch(20_000, 20) == nil)
    #expect(try bytes.fetch(40_000, 20) == Array(content[40_000..<40_020]))
  }

  @Test func `room that others have taken meanwhile is not taken again`() throws {
    let content = SeededRandom(3).bytes(40_000)
    let file = MeanwhileFile(try file(content))
    let bytes = try FileBytes(file, budget: 16_384)
    file.meanwhile { #expect(throws: Never.self) { try bytes.fetch(20_000, 20) } }
    #expect(try bytes.fetch(10, 20) == Array(content[10..<30]))
    #expect(!bytes.holds(10, 20) && bytes.holds(20_000, 20))
  }

  @Test func `nothing outside of the file is held`() throws {
    let bytes = try FileBytes(file([1, 2, 3]), budget: 1 << 20)
    #expect(try bytes.fetch(0, 3) == nil)
    #expect(bytes.holds(3, 0))
    #expect(!bytes.holds(4, 0))
    #expect(!bytes.holds(0, 4))
    #expect(!bytes.holds(0, -1))
    #expect(!bytes.holds(.max, 1))
    #expect(!bytes.holds(1, .max))
    #expect(bytes.u32(at: 0) == nil)
    #expect(bytes.u64(at: .max) == nil)
    #expect(try bytes.copy(1, 10) == [2, 3])
    #expect(try bytes.copy(7, 10) == [])
    #expect(try bytes.read(1, 10) == [2, 3])
    let empty = try FileBytes(disk.open("/e", .create), budget: 1 << 20)
    #expect(empty.count == 0)
    #expect(try empty.copy(0, 1) == [])
  }

  @Test func `beyond the budget it is read each time`() throws {
    let content = SeededRandom(2).bytes(60_000)
    let bytes = try FileBytes(file(content), budget: 20_000)
    #expect(try bytes.fetch(0, 10) == nil)
    for _ in 0..<2 {
      let reads = disk.reads
      #expect(try bytes.fetch(40_000, 10) == Array(content[40_000..<40_010]))
      #expect(disk.reads > reads)
    }
    #expect(bytes.holds(0, 10))
    let nothing = try FileBytes(disk.open("/f", .read), budget: 0)
    #expect(try nothing.fetch(5, 5) == Array(content[5..<10]))
    #expect(!nothing.holds(5, 5))
  }

  @Test func `a file that was cut gives fewer bytes, and what was read stays`() throws {
    let content = SeededRandom(3).bytes(60_000)
    let file = try file(content)
    let bytes = try FileBytes(file, budget: 1 << 20)
    #expect(try bytes.fetch(0, 1) == nil)
    try file.truncate(to: 20_000)
    #expect(try bytes.fetch(0, 16_384) == nil)
    #expect(try bytes.fetch(19_990, 20) == Array(content[19_990..<20_000]))
    #expect(try bytes.fetch(50_000, 10) == [])
    #expect(!bytes.holds(19_990, 10))
  }

  @Test func `a file of which a good part was asked for is read as a whole`() throws {
    let content = SeededRandom(4).bytes(2_000_000)
    let file = try file(content)
    let bytes = try FileBytes(file, budget: 2_000_000)
    #expect(try bytes.fetch(0, 900_000) == nil)
    #expect(!bytes.holds(1_999_999, 1))
    #expect(try bytes.fetch(900_000, 200_000) == nil)
    #expect(bytes.holds(0, 2_000_000))
    let isEqual = bytes.withSpan(at: 0, count: 2_000_000) { span in
      span.indices.allSatisfy { span[$0] == content[$0] }
    }
    #expect(isEqual == true)
    #expect(!bytes.holds(1_999_999, 2))
    // One that does not fit is not.
    let other = try FileBytes(disk.open("/f", .read), budget: 1_999_999)
    #expect(try other.fetch(0, 1_500_000) == nil)
    #expect(!other.holds(1_999_999, 1))
    // Nor one that can't be read to its end.
    let cut = try FileBytes(disk.open("/f", .read), budget: 4_000_000)
    try file.truncate(to: 1_900_000)
    #expect(try cut.fetch(0, 1_500_000) == nil)
    #expect(!cut.holds(1_800_000, 1))
    #expect(try cut.fetch(1_800_000, 1) == nil)
    #expect(try cut.fetch(1_999_999, 1) == [])
  }

  @Test func `a small file of which every piece was read lies there as a whole`() throws {
    let content = SeededRandom(5).bytes(40_000)
    let bytes = try FileBytes(file(content), budget: 40_000)
    #expect(try bytes.fetch(0, 32_768) == nil)
    #expect(unsafe bytes.start == nil)
    #expect(try bytes.fetch(39_999, 1) == nil)
    #expect(unsafe bytes.start != nil)
    #expect(bytes.equal(at: 0, content.span) == true)
    #expect(bytes.equal(at: 1, content.span) == nil)
    // One that does not fit is never whole.
    let other = try FileBytes(disk.open("/f", .read), budget: 39_999)
    #expect(try other.fetch(0, 32_768) == nil)
    #expect(try other.fetch(39_999, 1) == [content[39_999]])
    #expect(unsafe other.start == nil)
  }

  @Test func `a read that fails is thrown and leaves nothing`() throws {
    let bytes = try FileBytes(file([1, 2, 3, 4]), budget: 1 << 20)
    disk.failAt(read: disk.reads + 1, reason: .io(errno: 5))
    #expect(throws: DiskError.self) { try bytes.fetch(0, 4) }
    #expect(!bytes.holds(0, 4))
    #expect(try bytes.copy(0, 4) == [1, 2, 3, 4])
  }
}
