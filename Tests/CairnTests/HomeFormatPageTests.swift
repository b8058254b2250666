import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// What the page says of the files that an exchange keeps at home.
@Suite struct HomeFormatPageTests {
  private static let device = DeviceID(rawValue: 0x8877_6655_4433_2211)

  private func reason(_ bytes: [UInt8]) -> LogError.Reason? {
    do throws(LogError) {
      _ = try Histories(bytes, path: "CHAINS")
      return nil
    } catch { return error.reason }
  }

  @Test func `CHAINS`() throws {
    let bytes = try FormatPage.example("chains")
    let segment = try FormatPage.example("published")
    let chain = UInt128(segment.u64(at: 88)) << 64 | UInt128(segment.u64(at: 80))
    var histories = Histories()
    histories.note(Self.device, first: 2, [chain])
    #expect(histories.encoded() == bytes)
    let read = try Histories(bytes, path: "CHAINS")
    #expect(read == histories && read.chain(Self.device, at: 2) == chain)
    #expect(read.chain(Self.device, at: 1) == nil && read.chain(Self.device, at: 0) == 0)
  }

  @Test func `CHAINS that are cut, bent, newer or out of order say nothing`() throws {
    let bytes = try FormatPage.example("chains")
    for length in bytes.indices { #expect(reason(Array(bytes[..<length])) != nil) }
    for index in bytes.indices { #expect(reason(bytes.flipped(at: index)) != nil) }
    func changed(_ change: (inout [UInt8]) -> Void) -> LogError.Reason? {
      var copy = Array(bytes.dropLast(8))
      change(&copy)
      copy.put(XXH3.hash64(copy))
      return reason(copy)
    }
    #expect(changed { $0[10] = 9 } == .needsNewerVersion(9))
    #expect(changed { $0[26] = 0 } == .corrupt, "there is no delta 0")
    #expect(changed { $0 += [0] } == .corrupt)
    #expect(changed { $0[25] = 2 } != nil, "two marks are said to be there")
    let mark = bytes[26..<43]
    #expect(changed { $0[25] = 2; $0 += mark } == .corrupt, "the same sequence twice")
  }

  @Test func `CHAINS may say since when own files are replaced`() throws {
    var histories = Histories()
    histories.note(Self.device, first: 2, [7])
    let without = histories.encoded()
    histories.replaced = ["b.seg": 5, "a.seg": -1]
    let bytes = histories.encoded()
    #expect(try Histories(bytes, path: "CHAINS") == histories)
    #expect(bytes.starts(with: without.dropLast(8)))
    var list: [UInt8] = [2]
    list.putString("a.seg")
    list.append(1)
    list.putString("b.seg")
    list.append(10)
    #expect(bytes.dropLast(8).suffix(list.count).elementsEqual(list))
    for length in bytes.indices { #expect(reason(Array(bytes[..<length])) != nil) }
    for index in bytes.indices { #expect(reason(bytes.flipped(at: index)) != nil) }
    var disordered = Array(without.dropLast(8)) + [2, 1, 98, 0, 1, 97, 0]
    disordered.put(XXH3.hash64(disordered))
    #expect(reason(disordered) == .corrupt)
  }

  @Test func `CHAINS may say after how many rejoinings that was known`() throws {
    var histories = Histories()
    histories.note(Self.device, first: 2, [7])
    let without = histories.encoded()
    histories.rejoinings = 300
    let bytes = histories.encoded()
    #expect(Array(bytes.dropLast(8)) == Array(without.dropLast(8)) + [0, 0xac, 0x02])
    #expect(try Histories(bytes, path: "CHAINS") == histories)
    for length in bytes.indices { #expect(reason(Array(bytes[..<length])) != nil) }
    for index in bytes.indices { #expect(reason(bytes.flipped(at: index)) != nil) }
    histories.replaced = ["a.seg": 5]
    #expect(try Histories(histories.encoded(), path: "CHAINS") == histories)
    for end in [[0, 0], [0, 1, 1]] as [[UInt8]] {
      var bad = Array(without.dropLast(8)) + end
      bad.put(XXH3.hash64(bad))
      #expect(reason(bad) == .corrupt)
    }
  }

  @Test func `HELD, and one that is cut, bent, newer or out of order`() throws {
    let bytes = try FormatPage.example("held")
    let content: UInt128 = 0xffee_ddcc_bbaa_9988_7766_5544_3322_1100
    #expect(HeldFile([content]).encoded() == bytes)
    #expect(try HeldFile(bytes, path: "HELD").contents == [content])
    let many = HeldFile(Set((0..<2000).map { UInt128($0) }))
    #expect(many.contents.count == 1024 && many.encoded().count <= HeldFile.bytesMax)
    #expect(try HeldFile(many.encoded(), path: "HELD") == many)
    func reason(_ bytes: [UInt8]) -> LogError.Reason? {
      do throws(LogError) {
        _ = try HeldFile(bytes, path: "HELD")
        return nil
      } catch { return error.reason }
    }
    for length in bytes.indices { #expect(reason(Array(bytes[..<length])) != nil) }
    for index in bytes.indices { #expect(reason(bytes.flipped(at: index)) != nil) }
    func changed(_ change: (inout [UInt8]) -> Void) -> LogError.Reason? {
      var copy = Array(bytes.dropLast(8))
      change(&copy)
      copy.put(XXH3.hash64(copy))
      return reason(copy)
    }
    #expect(changed { $0[10] = 9 } == .needsNewerVersion(9))
    #expect(changed { $0 += [0] } == .corrupt)
    #expect(changed { $0[16] = 2 } != nil, "two are said to be there")
    #expect(changed { $0[16] = 2; $0 += bytes[17..<33] } == .corrupt, "the same twice")
  }

  @Test func `a bent or cut ROLE is as good as none, and made again`() throws {
    let bytes = try FormatPage.example("role")
    for length in bytes.indices {
      #expect(throws: LogError.self) { try RoleNote.decode(Array(bytes[..<length]), path: "ROLE") }
    }
    for bit in 0..<(bytes.count * 8) {
      var bent = bytes
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: LogError.self) { try RoleNote.decode(bent, path: "ROLE") }
    }
    let bench = CatalogueBench()
    let datastore = try bench.manager("a").createDatastore()
    try datastore.close()
    let path = try #require(bench.disk.paths().first { $0.hasSuffix("/ROLE") })
    let good = try #require(bench.disk.bytes(path))
    let zeros = [UInt8](repeating: 0, count: 32)
    for bad in [[], good.flipped(at: 20), Array(good.dropLast()), zeros] {
      try bench.disk.setBytes(path, bad)
      #expect(try bench.manager("a").listDatastores().map(\.id) == [datastore.id])
      let again = try bench.manager("a").openDatastore(datastore.id)
      #expect(again.effectiveRole == .owner)
      try again.sync()
      try again.close()
      #expect(bench.disk.bytes(path) == good)
    }
  }

  @Test func `a device's newest chains are kept, 256 of them`() {
    var histories = Histories()
    histories.note(Self.device, first: 1, (1...300).map { UInt128($0) })
    #expect(histories.marks[Self.device]?.count == 256)
    #expect(histories.chain(Self.device, at: 300) == 300)
    #expect(histories.chain(Self.device, at: 45) == 45)
    #expect(histories.chain(Self.device, at: 44) == nil)
  }

  /// An outbox as a device that took another name leaves it until its next exchange.
  @Test func `an outbox has own deltas in published segments without a chain`() async throws {
    let bench = IdentityBench()
    let a = try bench.open("a")
    try a.add("common")
    try await a.exchange()
    bench.clone("a", as: "b")
    let b = try bench.open("b")
    try b.add("of-b")
    try await b.exchange()
    for index in 0..<3 { try a.add("of-a\(index)") }
    try await a.exchange()
    #expect(try a.sync().newDevice == a.device)
    let name = FileName.outbox(1)
    #expect(name == "outbox-0000000000000001")
    let paths = bench.disk("a").paths().filter { $0.contains("/" + name + "/") }
    #expect(!paths.isEmpty)
    let datastore = DatastoreManager.identity(of: "notes", generation: 0)
    var next: UInt64 = 1
    for path in paths {
      let file = String(path.split(separator: "/").last ?? "")
      let bytes = try #require(bench.disk("a").bytes(path))
      let segment = try PublishedSegment(bytes, name: file, datastore: datastore)
      #expect(segment.encodedName(bytes) == file)
      #expect(segment.device == a.store.device.rawValue && segment.first == next)
      #expect(segment.chainBefore == 0 && segment.chainAfter == 0)
      next = segment.last + 1
    }
    #expect(next == 4)
    try await a.exchange()
    #expect(!bench.disk("a").paths().contains { $0.contains("/outbox-") }, "it is published")
    try await b.pull()
    #expect(try b.ids() == ["common", "of-a0", "of-a1", "of-a2", "of-b"])
  }
}
