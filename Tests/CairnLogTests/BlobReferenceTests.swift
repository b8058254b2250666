import CairnBytes
import CairnLog
import TestSupport
import Testing

struct BlobReferenceTests {
  private func reference() -> BlobReference {
    BlobReference(length: 5, hash: SHA256.hash(Array("hello".utf8)))
  }

  /// A reference as some later version might write it.
  private func newer(floor: UInt16, extra: [UInt8]) -> [UInt8] {
    var bytes = [UInt8](reference().encoded().dropLast(8))
    bytes[8] = 2
    bytes[10] = UInt8(floor)
    bytes += extra
    bytes.put(XXH3.hash64(bytes))
    return bytes
  }

  @Test func `the page's example`() throws {
    let bytes = try FormatPage.example("reference")
    #expect(reference().encoded() == bytes)
    #expect(BlobReference(bytes) == reference())
    #expect(bytes.count == BlobReference.size)
  }

  @Test func `a length that no content has is none`() {
    for (length, isOne) in [(BlobReference.lengthMax, true), (BlobReference.lengthMax + 1, false)] {
      let reference = BlobReference(length: length, hash: SHA256.hash([]))
      #expect((BlobReference(reference.encoded()) == reference) == isOne)
    }
  }

  @Test func `every other value of bytes is none`() throws {
    let bytes = reference().encoded()
    for index in bytes.indices { #expect(BlobReference(bytes.flipped(index)) == nil) }
    for length in 0..<bytes.count { #expect(BlobReference([UInt8](bytes[..<length])) == nil) }
    #expect(BlobReference(bytes + [0]) == nil)
    #expect(BlobReference([]) == nil)
    #expect(BlobReference([UInt8](repeating: 0x43, count: 64)) == nil)
  }

  @Test func `one of a newer version is carried as it is`() throws {
    let unreadable = newer(floor: 2, extra: [1, 2, 3])
    let found = try #require(BlobReference(unreadable))
    #expect(!found.isReadable && found.encoded() == unreadable && found.length == 0)
    let longer = newer(floor: 1, extra: [1, 2, 3])
    let readable = try #require(BlobReference(longer))
    #expect(readable.isReadable && readable.encoded() == longer)
    #expect(readable.length == 5 && readable.hash == reference().hash)
    #expect(BlobReference(newer(floor: 2, extra: [UInt8](repeating: 0, count: 5000))) == nil)
  }

  @Test func `references are found in whatever they were encoded into`() {
    let other = BlobReference(length: 1, hash: SHA256.hash([7]))
    let bytes =
      [0x43, 0x41] + reference().encoded() + Array("CAIRNREFCAIR".utf8) + other.encoded()
      + reference().encoded() + [0x43]
    #expect(BlobReference.all(in: bytes) == [reference(), other])
    #expect(BlobReference.occurs(in: bytes) && !BlobReference.occurs(in: Array("CAIRNRE".utf8)))
    #expect(BlobReference.all(in: []).isEmpty)
  }

  @Test func `the names of files say which content they are`() throws {
    let hash = reference().hash
    for isOwn in [true, false] {
      let found = try #require(FileName.blob(FileName.blob(hash, isOwn: isOwn)))
      #expect(found.hash == hash && found.isOwn == isOwn)
    }
    #expect(FileName.blobPart(FileName.blobPart(hash)) == hash)
    let name = FileName.publishedBlob(device: 0x1122, hash)
    let found = try #require(FileName.publishedBlob(name))
    #expect(found.device == 0x1122 && found.hash == hash)
    for bad in ["x" + name, name + "x", name.uppercased(), String(name.dropFirst()), ""] {
      #expect(FileName.publishedBlob(bad) == nil && FileName.blob(bad) == nil)
    }
  }
}

extension [UInt8] {
  fileprivate func flipped(_ index: Int) -> [UInt8] {
    var copy = self
    copy[index] ^= 1
    return copy
  }
}
