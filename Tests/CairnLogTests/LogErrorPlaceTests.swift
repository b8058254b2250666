import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// An error of a file says which, where, and what: by its reason others decide what to do.
struct LogErrorPlaceTests {
  @Test func `each cause of a decoding error has its reason, its place and its words`() {
    let cases: [(DecodeError, LogError.Reason, String)] = [
      (.truncated, .truncated, "too early"), (.overlongVarint, .corrupt, "shortest form"),
      (.limit, .limit, "beyond the bounds"), (.malformed("the rule"), .corrupt, "the rule"),
      (.newer("the flag"), .needsNewerVersion(FormatVersion.current + 1), "the flag"),
    ]
    for (cause, reason, words) in cases {
      let error = LogError(cause, "/d/f", at: 77, "the head")
      #expect(error.reason == reason && error.path == "/d/f" && error.offset == 77, "\(cause)")
      #expect(error.detail.hasPrefix("the head: ") && error.detail.contains(words), "\(cause)")
      #expect(error.description == "/d/f at offset 77: \(error.detail)")
    }
    let newer = LogError(.newer("the flag"), "/d/f", at: 0, "the head")
    #expect(newer.detail.contains("update the app"))
    #expect(LogError(.missing, "/d/f", "it is gone").description == "/d/f: it is gone")
  }

  private func failure(_ body: () throws -> Void) -> LogError? {
    do {
      try body()
      return nil
    } catch { return error as? LogError }
  }

  @Test func `damage of a snapshot is told with its place`() throws {
    let sample = try SnapshotSample()
    let header = try sample.header()
    func check(_ offset: UInt64, _ words: String, _ body: (SnapshotReader) throws -> Void) throws {
      let place = Int(offset)
      try sample.change { $0[place + 17] ^= 4 }
      let error = failure { try body(try sample.reader()) }
      #expect(error?.reason == .corrupt && error?.path == SnapshotSample.path, "\(words)")
      #expect(error?.offset == offset && error?.detail.contains(words) == true, "\(words)")
      try sample.change { $0[place + 17] ^= 4 }
    }
    try check(UInt64(sample.offset(of: 1)), "block 1") { _ = try $0.block(1) }
    try check(header.directoryOffset, "page 0") { _ = try $0.block(0) }
    try check(header.directoryOffset, "page 0") { try $0.verifyPages() }
    try check(header.indexOffset, "page 0") { reader in
      var probe = reader.probe(sample.hashes[0])
      _ = try reader.next(&probe)
    }
    try check(header.indexOffset, "page 0") { try $0.verifyPages() }
    // The words of the description are 13 bytes; the checksum follows.
    try check(header.descriptionOffset, "description") { _ in }
    #expect(try sample.reader().block(1) == sample.blocks[1])
  }

  /// Its page has the right checksum.
  @Test func `a directory that lies about a block is told before anything is read there`() throws {
    let good = try SnapshotSample()
    let header = try good.header()
    let (first, third) = (UInt64(try good.offset(of: 0)), UInt64(try good.offset(of: 2)))
    let lies: [UInt64] = [
      0, UInt64(SnapshotHeader.size) - 1, first, third, third + 1, header.directoryOffset,
      header.directoryOffset + 64, header.fileLength, .max,
    ]
    for lie in lies {
      let sample = try SnapshotSample()
      let directory = Int(header.directoryOffset)
      try sample.change { bytes in
        bytes.set(lie, at: directory + 16)
        let page = directory + 8..<directory + SnapshotHeader.pageSize
        let checksum = XXH3.hash64(bytes, page, seed: 0)
        bytes.set(checksum, at: directory)
      }
      let reader = try sample.reader()
      let itself = failure { _ = try reader.block(1) }
      #expect(itself?.reason == .corrupt && itself?.path == SnapshotSample.path, "\(lie)")
      // The one before it ends where this one begins.
      let before = failure { _ = try reader.block(0) }
      #expect(before?.reason == .corrupt && before?.offset == first, "\(lie)")
      #expect(itself?.offset == lie, "\(lie)")
      #expect(itself?.detail.contains("impossible") == (lie != first), "\(lie)")
      if lie <= first || lie > header.directoryOffset {
        #expect(before?.detail.contains("impossible") == true, "\(lie)")
      }
      #expect(try reader.block(2) == sample.blocks[2], "\(lie)")
    }
  }
}
