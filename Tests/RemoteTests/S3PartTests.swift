import Testing

@testable import CairnS3

/// How large the parts are in which a file is sent.
@Suite struct S3PartTests {
  /// More parts than 1,000 not every server takes.
  @Test(
    arguments: [
      (1001, 1000), (1_000_000, 1000), (1_000_001, 1001), (1_000_500, 1001),
      (2_000_000, 2000), (UInt64.max, 18_446_744_073_709_552),
    ] as [(UInt64, UInt64)])
  func `parts are as small as they may be, and no file has too many`(
    _ size: UInt64, _ expected: UInt64
  ) {
    let part = S3Folder.partBytes(of: size, least: 1000)
    #expect(part == expected)
    #expect((size - 1) / part < 1000)
  }

  @Test func `the parts of all but the largest files are as small as servers take`() {
    let least: UInt64 = 5 << 20
    for size: UInt64 in [5 << 20, 1 << 30, 4 << 30] {
      #expect(S3Folder.partBytes(of: size, least: least) == least)
    }
    #expect(S3Folder.partBytes(of: 1 << 40, least: least) == 1_099_511_628)
  }
}
