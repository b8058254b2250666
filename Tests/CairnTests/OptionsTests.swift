import CairnMerge
import CairnStore
import Testing

@testable import Cairn

/// What options mean to the store: seconds and days become milliseconds, and what makes no sense
/// becomes the next thing that does.
@Suite struct OptionsTests {
  private func stored(_ change: (inout Options) -> Void) -> StoreOptions {
    var options = Options()
    change(&options)
    return options.stored
  }

  @Test(
    arguments: [
      (1.5, 1500), (0.001, 1), (0, 0), (-1, 0), (3600, 3_600_000), (1e12, 1_000_000_000_000),
    ] as [(Double, Int64)])
  func `periods are in seconds`(seconds: Double, milliseconds: Int64) {
    let options = stored { $0.durability = .periodic(seconds: seconds) }
    #expect(options.durability == .periodic(milliseconds: milliseconds))
    var others = Options()
    others.attachmentGraceSeconds = seconds
    #expect(others.attachmentGraceMilliseconds == milliseconds)
  }

  @Test func `each durability is the store's of that name`() {
    #expect(stored { $0.durability = .full }.durability == .full)
    #expect(stored { $0.durability = .none }.durability == StoreOptions.Durability.none)
  }

  @Test(
    arguments: [
      (1.5, 129_600_000), (30, 2_592_000_000), (0, 0), (-1, 0), (1e9, 86_400_000_000_000),
    ] as [(Double, Int64)])
  func `the trash keeps for days`(days: Double, milliseconds: Int64) {
    #expect(stored { $0.trashDays = days }.trashMilliseconds == milliseconds)
  }

  @Test func `sizes are kept within bounds`() {
    let (least, most) = (65_536, 268_435_456)
    for (size, expected) in [
      (-1, least), (1, least), (least, least), (least + 1, least + 1), (most, most),
      (most + 1, most), (Int.max, most),
    ] {
      #expect(stored { $0.segmentBytes = size }.segmentBytes == expected)
    }
    for (size, expected) in [(-1, 0), (0, 0), (5, 5)] {
      #expect(stored { $0.cacheBytes = size }.cacheBytes == expected)
      #expect(stored { $0.trashBytes = size }.trashBytes == expected)
    }
  }

  @Test func `no record and no commit may be larger than 32 MiB`() {
    let most = 33_554_432
    for (size, expected) in [
      (most - 1, most - 1), (most, most), (most + 1, most), (Int.max, most),
    ] {
      let options = stored {
        $0.limits.recordBytes = size
        $0.limits.deltaBytes = size
      }
      #expect(options.limits.recordBytes == expected)
      #expect(options.limits.deltaBytes == expected)
    }
  }

  @Test(arguments: [true, false])
  func `who wants no compactions gets none`(compacts: Bool) {
    #expect(stored { $0.compactsAutomatically = compacts }.compactsAutomatically == compacts)
  }
}
