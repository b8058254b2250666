import CairnLog
import TestSupport
import Testing

struct FileNameTests {
  @Test func `names are made and parsed`() {
    #expect(FileName.segment(10) == "000000000000000a.seg")
    #expect(FileName.segment(0x0123_4567_89AB_CDEF) == "0123456789abcdef.seg")
    #expect(FileName.snapshot(.max) == "ffffffffffffffff.snap")
    #expect(FileName.head(device: 0xABC) == "0000000000000abc.head")
    #expect(FileName.temporary(1) == "0000000000000001.tmp")
    #expect(FileName.sharedSnapshot(UInt128(1) << 64) == "00000000000000010000000000000000.snap")
    let random = SeededRandom(13)
    for _ in 0..<1_000 {
      let number = random.next() >> UInt64(2 + random.below(62))
      #expect(FileName.segmentNumber(FileName.segment(number)) == number)
      #expect(FileName.snapshotNumber(FileName.snapshot(number)) == number)
      #expect(FileName.headDevice(FileName.head(device: number)) == number)
      #expect(FileName.isTemporary(FileName.temporary(number)))
      let hash = UInt128(random.next()) << 64 | UInt128(number)
      let shared: UInt128? = FileName.sharedSnapshot(FileName.sharedSnapshot(hash))
      #expect(shared == hash)
      let first = 1 + number / 2
      let name = FileName.Published(
        device: random.next(), first: first, last: first + number / 4, hash: hash)
      let text: String = FileName.published(name)
      #expect(FileName.published(text) == name)
      #expect(text.utf8.allSatisfy { Self.isAllowed($0) })
    }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    (97...122).contains(byte) || (48...57).contains(byte) || [45, 46, 95].contains(byte)
  }

  @Test(arguments: [
    "", ".seg", "a.seg", "000000000000000A.seg", "00000000000000001.seg", "000000000000000a.SEG",
    "000000000000000a.seg ", " 000000000000000a.seg", "+00000000000000a.seg",
    "-00000000000000a.seg",
    "000000000000000a.seg~", "000000000000000a.se", "000000000000000a (1).seg",
    "000000000000000a.seg.tmp", "../000000000000a.seg", "０００００００００００００００ａ.seg",
    "000000000000000a.seg\u{301}", "000000000000000\u{0}.seg", "00000000000000é.seg",
    "000000000000000a.snap", ".000000000000000a.seg.icloud", "000000000000000a.sync-conflict.seg",
  ])
  func `hostile names are none of ours`(name: String) {
    #expect(FileName.segmentNumber(name) == nil)
    #expect(FileName.published(name) == nil)
    #expect(FileName.headDevice(name) == nil)
    #expect(!FileName.isTemporary(name))
    let shared: UInt128? = FileName.sharedSnapshot(name)
    #expect(shared == nil)
  }

  @Test func `an outbox says after how many rejoinings`() {
    #expect(FileName.outbox(10) == "outbox-000000000000000a")
    for number in [0, 1, 10, .max] as [UInt64] {
      #expect(FileName.outboxNumber(FileName.outbox(number)) == number)
    }
    for name in [
      "", "outbox-", "outbox-a", "000000000000000a", "inboxx-000000000000000a",
      "Outbox-000000000000000a", "outbox-000000000000000a.seg", "outbox-outbox-000000000000000a",
    ] {
      #expect(FileName.outboxNumber(name) == nil)
    }
  }

  @Test func `a renamed file is still its device's`() {
    let name = FileName.published(FileName.Published(device: 0xA, first: 1, last: 2, hash: 3))
    for name in [name, name + " (Case Conflict).seg", FileName.head(device: 0xA)] {
      #expect(FileName.isOf(device: 0xA, name), "\(name)")
      #expect(!FileName.isOf(device: 0xB, name), "\(name)")
    }
  }

  @Test func `a published name has one form`() {
    let device = "8877665544332211"
    let hash = "00112233445566778899aabbccddeeff"
    #expect(FileName.published("\(device)-1-2-\(hash).seg") != nil)
    for name in [
      "\(device)-0-2-\(hash).seg", "\(device)-2-1-\(hash).seg", "\(device)-01-2-\(hash).seg",
      "\(device)-1-02-\(hash).seg", "\(device)-+1-2-\(hash).seg", "\(device)--1-2-\(hash).seg",
      "\(device)-1-2-\(hash)0.seg", "\(device)-1-2-\(hash).snap", "\(device)-1-2.seg",
      "\(device)-1-2-\(hash)-.seg", "\(device)-1-18446744073709551616-\(hash).seg",
      "\(device)-1-2-00112233445566778899aabbccddeeFF.seg", "\(device)-1-٢-\(hash).seg",
      "\(device)-1-2-\(hash) (conflicted copy).seg", "\(device)-1-2-\(hash).seg.icloud",
    ] { #expect(FileName.published(name) == nil, "\(name)") }
    // More deltas than anybody counts on from.
    #expect(FileName.published("\(device)-1-4611686018427387904-\(hash).seg") != nil)
    #expect(FileName.published("\(device)-1-4611686018427387905-\(hash).seg") == nil)
  }

  @Test(arguments: [
    ("default", "p-default"), ("a.b-c_9", "p-a.b-c_9"), (".abc", "s-abc"), (".ABc", "s-.a.bc"),
    (".-_9Z", "s--_9.z"),
  ])
  func `directories are named after datastores`(id: String, name: String) {
    #expect(FileName.directory(datastore: id) == name)
    #expect(FileName.datastore(directory: name) == id)
  }

  @Test func `two ids never share a directory, whatever folds case`() {
    let random = SeededRandom(14)
    let alphabet = Array("aAbB-_0")
    var seen: [String: String] = [:]
    for _ in 0..<5_000 {
      let id = "." + String((0..<(1 + random.below(5))).map { _ in alphabet[random.below(7)] })
      let name = FileName.directory(datastore: id)
      #expect(name == name.lowercased())
      #expect(FileName.datastore(directory: name) == id)
      #expect(seen[name] == nil || seen[name] == id)
      seen[name] = id
    }
  }

  @Test(arguments: [
    "", "p", "default", "q-default", "s-A", "s-a.", "s-..a", "s-.1", "s-.-", "s-ß", "s-.ß",
    "p-Default", "p-.b", "p-a/b", "p-\u{212A}", "p-a b", "s-a\u{301}", ".DS_Store",
  ])
  func `other directories are no datastores`(name: String) {
    #expect(FileName.datastore(directory: name) == nil)
  }
}
