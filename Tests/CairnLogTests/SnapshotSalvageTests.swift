import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// What can be had of snapshots of which parts are spoilt, or can't be read.
struct SnapshotSalvageTests {
  private func contents(_ salvage: SnapshotSalvage) -> [Int: [UInt8]] {
    var result: [Int: [UInt8]] = [:]
    for place in salvage.blocks { result[place.number] = salvage.content(place) }
    return result
  }

  @Test func `all of a good file is found`() throws {
    let sample = try SnapshotSample(loose: 1)
    let salvage = try sample.salvage()
    #expect(contents(salvage) == [0: sample.blocks[0], 1: sample.blocks[1], 2: sample.blocks[2]])
    #expect(salvage.description == SnapshotSample.description)
    #expect(salvage.lost.isEmpty && salvage.mended.isEmpty)
    for (row, hash) in sample.hashes.enumerated() {
      #expect(salvage.isIndexed(hash, block: row / 3, row: row % 3) == true)
      #expect(salvage.isIndexed(hash, block: row / 3, row: 3) == false)
    }
  }

  /// Its look-up begins at the same slot, which carries another tag.
  @Test func `a hash that only comes by the slot of a row has no row there`() throws {
    let sample = try SnapshotSample()
    #expect(try sample.header().indexPages == 1)
    let salvage = try sample.salvage()
    for (row, hash) in sample.hashes.enumerated() {
      let other = hash ^ (1 << 40)
      #expect(salvage.isIndexed(other, block: row / 3, row: row % 3) == false)
      #expect(salvage.isIndexed(hash, block: row / 3, row: row % 3) == true)
    }
  }

  @Test func `a file that is not there, or of a newer version, is an error`() throws {
    let sample = try SnapshotSample(floor: 99)
    #expect(logFailure { _ = try sample.salvage() } == .needsNewerVersion(99))
    #expect(sample.disk.openFiles == 0)
    try sample.disk.remove(SnapshotSample.path)
    #expect(throws: LogError.self) { try sample.salvage() }
  }

  @Test func `a header that can't be read is an error, and a block that can't is lost`() throws {
    let sample = try SnapshotSample()
    let before = sample.disk.reads
    _ = try sample.salvage()
    let all = sample.disk.reads - before
    var (lost, errors) = (0, 0)
    for number in 1...all {
      sample.disk.failAt(read: sample.disk.reads + number, reason: .io(errno: 5))
      do {
        let salvage = try sample.salvage()
        lost += salvage.lost.count + (salvage.description == nil ? 1 : 0)
        for (number, content) in contents(salvage) { #expect(content == sample.blocks[number]) }
      } catch {
        // Opening, measuring, and the header.
        #expect(number <= 3)
        errors += 1
      }
      sample.disk.heal()
    }
    #expect(lost > 3 && errors == 3)
  }

  @Test func `of what is shorter than a header there is nothing`() throws {
    let sample = try SnapshotSample()
    try sample.change { $0.removeLast($0.count - 100) }
    let salvage = try sample.salvage()
    #expect(salvage.header == nil && salvage.blocks.isEmpty && salvage.description == nil)
    #expect(salvage.isIndexed(sample.hashes[0], block: 0, row: 0) == nil)
  }

  @Test func `without a header blocks and description are found where they begin`() throws {
    let sample = try SnapshotSample()
    let second = try sample.offset(of: 1)
    let third = try sample.offset(of: 2)
    try sample.change { for place in 0..<128 { $0[place] = 0 } }
    let salvage = try sample.salvage(budget: 0)
    #expect(contents(salvage).count == 3)
    #expect(salvage.description == SnapshotSample.description)
    // Also with a block less.
    try sample.change { for place in second..<second + 20 { $0[place] = 0 } }
    let less = try sample.salvage(budget: 0)
    #expect(contents(less) == [0: sample.blocks[0], 2: sample.blocks[2]])
    #expect(less.lost.map(\.number) == [1])
    #expect(less.lost.first?.range == UInt64(second)..<UInt64(third))
    #expect(less.description == SnapshotSample.description)
  }

  @Test func `without a header and the first block all the rest is found`() throws {
    let sample = try SnapshotSample()
    let second = try sample.offset(of: 1)
    try sample.change { for place in 0..<(second - 8) { $0[place] = 0 } }
    let salvage = try sample.salvage(budget: 0)
    #expect(contents(salvage) == [1: sample.blocks[1], 2: sample.blocks[2]])
    #expect(salvage.lost.map(\.number) == [0])
    #expect(salvage.lost.first?.range == 128..<UInt64(second))
    #expect(salvage.blockCount == 3)
    #expect(salvage.description == SnapshotSample.description)
  }

  @Test func `without a header and the last block it is said that something is lost`() throws {
    let sample = try SnapshotSample()
    let last = try sample.offset(of: 2)
    let pages = Int(try sample.header().directoryOffset)
    try sample.change { for place in 0..<128 { $0[place] = 0 } }
    // Its lengths tell where it ended.
    try sample.change { for place in (last + 20)..<(last + 40) { $0[place] ^= 0x5A } }
    let salvage = try sample.salvage(budget: 0)
    #expect(salvage.blocks.map(\.number) == [0, 1] && salvage.blockCount == 3)
    #expect(salvage.lost.map(\.number) == [2] && salvage.lost.first?.count == 1)
    #expect(salvage.lost.first?.range == UInt64(last)..<UInt64(pages))
    #expect(salvage.description == SnapshotSample.description)
    // Without them nothing does.
    try sample.change { for place in last..<(last + 16) { $0[place] = 0 } }
    let less = try sample.salvage(budget: 0)
    #expect(less.blocks.map(\.number) == [0, 1] && less.blockCount == 2)
    #expect(less.lost.map(\.number) == [2] && less.lost.first?.count == nil)
    #expect(less.lost.first?.range == UInt64(last)..<UInt64(sample.bytes.count))
    #expect(less.description == nil)
  }

  @Test func `without header and directory it is not known where the blocks end`() throws {
    let sample = try SnapshotSample()
    let pages = Int(try sample.header().directoryOffset)
    try sample.change { bytes in
      for place in 0..<128 { bytes[place] = 0 }
      bytes[pages + 20] ^= 0xFF
    }
    let salvage = try sample.salvage(budget: 0)
    #expect(contents(salvage).count == 3)
    #expect(salvage.lost.map(\.number) == [3] && salvage.lost.first?.count == nil)
    #expect(salvage.description == nil)
  }

  @Test func `without a header a file that ends too early has no description`() throws {
    let sample = try SnapshotSample()
    let end = Int(try sample.header().descriptionOffset)
    try sample.change { bytes in
      for place in 0..<128 { bytes[place] = 0 }
      bytes.removeLast(bytes.count - end - 4)
    }
    let salvage = try sample.salvage(budget: 0)
    #expect(contents(salvage).count == 3)
    #expect(salvage.description == nil)
  }

  @Test func `of several blocks beyond mending all are lost, and no other`() throws {
    let sample = try SnapshotSample()
    try sample.spoil(block: 1)
    try sample.spoil(block: 2)
    let salvage = try sample.salvage(budget: 0)
    #expect(contents(salvage) == [0: sample.blocks[0]])
    #expect(salvage.lost.map(\.number) == [1, 2])
  }

  @Test func `a block that does not unpack has no content`() throws {
    let sample = try SnapshotSample()
    try sample.declare(601, of: 1)
    let salvage = try sample.salvage(budget: 0)
    #expect(salvage.blocks.map(\.number) == [0, 1, 2])
    #expect(contents(salvage) == [0: sample.blocks[0], 2: sample.blocks[2]])
  }

  @Test func `a description is mended, or missing`() throws {
    let sample = try SnapshotSample()
    let start = Int(try sample.header().descriptionOffset)
    try sample.change { $0[start + 3] ^= 8 }
    #expect(try sample.salvage().description == SnapshotSample.description)
    #expect(try sample.salvage(budget: 0).description == nil)
    try sample.change { $0[start + 5] ^= 8 }
    #expect(try sample.salvage().description == nil)
    #expect(try SnapshotSample(description: []).salvage().description == nil)
  }

  @Test func `a header with one bit turned is mended`() throws {
    let sample = try SnapshotSample()
    let header = try #require(try sample.salvage().header)
    for place in [8, 33, 56, 72, 120, 127] {
      try sample.change { $0[place] ^= 4 }
      #expect(try sample.salvage().header == header, "\(place)")
      #expect(try sample.salvage(budget: 0).header == nil, "\(place)")
      try sample.change { $0[place] ^= 4 }
    }
  }

  @Test func `a header whose parts do not fit is none`() throws {
    let sample = try SnapshotSample()
    try sample.change { bytes in
      bytes[42] = 5
      bytes.set(XXH3.hash64(bytes, 0..<120), at: 120)
    }
    let salvage = try sample.salvage(budget: 0)
    #expect(salvage.header == nil)
    #expect(contents(salvage).count == 3)
  }

  /// Round the page once, and no further.
  @Test func `a page full of other rows has no row of this one`() throws {
    let sample = try SnapshotSample()
    let start = Int(try sample.header().indexOffset)
    try sample.change { bytes in
      for place in 8..<4096 { bytes[start + place] = 0xFF }
      let page = Array(bytes[start..<start + 4096])
      bytes.set(XXH3.hash64(page, 8..<4096, seed: 0), at: start)
    }
    let salvage = try sample.salvage()
    #expect(salvage.isIndexed(sample.hashes[0], block: 0, row: 0) == false)
  }
}
