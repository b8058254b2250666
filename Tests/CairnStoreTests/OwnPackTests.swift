import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Own deltas as they are published: in steps, which go on where the last one stopped.
struct OwnPackTests {
  /// Deltas of some size, in segments of 64 KiB, with other devices' packs between them.
  private func sample(_ count: Int) throws -> (author: StoreDevice, peer: StoreDevice) {
    let author = try StoreDevice(1) { $0.segmentBytes = 64 << 10 }
    let peer = try StoreDevice(2)
    var taken: UInt64 = 0
    for number in 0..<count {
      let text = String(repeating: "\(number) ", count: 400)
      try author.store.insert("r\(number)", ["text": .string(text), "number": .int(Int64(number))])
      if number > 3 { try author.store.set("r\(number - 3)", ["number": -1]) }
      try author.store.sync()
      if number % 7 == 0 {
        try peer.store.insert("p\(number)", ["a": 1])
        try peer.store.sync()
        try author.store.sync(packs: [peer.store.pack(after: taken)])
        taken += 1
      }
    }
    try author.store.flush()
    return (author, peer)
  }

  private func reader(_ number: UInt64, _ packs: [[UInt8]]) throws -> StoreContent {
    let device = try StoreDevice(number)
    #expect(try device.store.sync(packs: packs).failures.isEmpty)
    return try StoreContent(device.store)
  }

  @Test(arguments: [1, 2000, 100_000]) func `steps of any size say what the whole says`(
    limit: Int
  ) throws {
    let (author, peer) = try sample(120)
    let foreign = try peer.store.pack()
    let last = author.store.vector[author.id]
    var steps: [[UInt8]] = []
    var have: UInt64 = 0
    while have < last {
      let step = try #require(try author.store.ownPack(after: have, through: last, limit: limit))
      #expect(step.first == have + 1 && step.last >= step.first)
      steps.append(step.pack)
      have = step.last
    }
    #expect(steps.count > 1)
    #expect(try reader(3, [foreign] + steps) == StoreContent(author.store))
  }

  @Test func `own deltas that are not there are named with their place`() throws {
    let (author, _) = try sample(5)
    do {
      _ = try author.store.ownPack(after: 90, through: 99, limit: 900)
      Issue.record("nothing was missed")
    } catch {
      #expect(error.log?.reason == .missing)
      #expect(error.log?.path == StoreDevice.directory + "/log")
      #expect(error.message.contains("own delta 91"))
    }
  }

  @Test func `damage in the segment that grows is named, and what is before it is given`() throws {
    let device = try StoreDevice(1)
    let random = SeededRandom(5)
    for number in 0..<20 {
      try device.store.insert("r\(number)", ["bytes": .bytes(random.bytes(2000))])
      try device.store.sync()
    }
    try device.store.flush()
    let path = StoreDevice.directory + "/log/" + FileName.segment(1)
    // In the fifth.
    try device.disk.corrupt(path, 10_000, xor: 4)
    let before = try #require(try device.store.ownPack(after: 0, through: 4, limit: 1 << 20))
    #expect(before.last == 4)
    for after: UInt64 in [0, 4, 10] {
      do {
        _ = try device.store.ownPack(after: after, through: 20, limit: 1 << 20)
        Issue.record("nothing was missed")
      } catch {
        #expect(error.log?.path == path && error.log?.reason == .corrupt)
        #expect(try (7_800...10_000).contains(#require(error.log?.offset)))
      }
    }
  }

  @Test func `any part can be asked for after any other`() throws {
    let (author, _) = try sample(60)
    let last = author.store.vector[author.id]
    let random = SeededRandom(7)
    for _ in 0..<200 {
      let after = UInt64(random.below(Int(last)))
      let through = after + 1 + UInt64(random.below(Int(last - after)))
      let found = try #require(try author.store.ownPack(after: after, through: through, limit: 900))
      // Another store of the same log has kept no place to go on from.
      var pack = try PackReader(found.pack)
      #expect(pack.header.first == after + 1 && found.last <= through)
      var delta = Delta()
      while try pack.next(into: &delta) {
        let number = Int(delta.dot.sequence) - 1
        #expect(pack.records.contains { $0.text == "r\(number)" })
      }
    }
  }

  @Test func `what was published once is not read again`() throws {
    let device = try StoreDevice(1)
    for number in 0..<500 {
      try device.store.insert("r\(number)", ["text": .string(String(repeating: "x", count: 200))])
      try device.store.sync()
    }
    _ = try device.store.pack()
    let before = device.disk.bytesRead
    for number in 500..<520 {
      try device.store.insert("r\(number)", ["number": .int(Int64(number))])
      try device.store.sync()
      _ = try device.store.pack(after: UInt64(number))
    }
    #expect(device.disk.bytesRead - before < 20 * 1024)
  }

  @Test func `a compaction and a restart between two publications lose nothing`() throws {
    let (author, peer) = try sample(40)
    let foreign = try peer.store.pack()
    let first = try author.store.pack()
    var last = author.store.vector[author.id]
    author.store.confirmPublished(through: last)
    _ = try author.store.compact()
    try author.store.insert("later", ["number": 1])
    try author.store.sync()
    let second = try author.store.pack(after: last)
    last += 1
    try author.reopen()
    try author.store.set("later", ["number": 2])
    try author.store.sync()
    let third = try author.store.pack(after: last)
    #expect(try reader(3, [foreign, first, second, third]) == StoreContent(author.store))
  }
}
