import CairnDisk
import Testing

@Suite struct ElapsedTests {
  @Test(arguments: [
    (1_700_000_000_000, 1_699_999_999_000, 1000), (5, 5, 0), (3, 10, -7), (3, -10, 13),
    (-10, 3, -13), (.max, 1, .max - 1), (.max, 0, .max), (.max, .max, 0), (.min, .min, 0),
    (.min, 0, .min), (-1, .min, .max), (-1, .max, .min),
  ] as [(Int64, Int64, Int64)])
  func `what there is room for is the difference`(now: Int64, earlier: Int64, expected: Int64) {
    #expect(now.elapsed(since: earlier) == expected)
  }

  @Test(arguments: [
    (0, .min), (1_700_000_000_000, .min), (.max, -1), (.max, .min),
  ] as [(Int64, Int64)])
  func `beyond it is the most that there is room for`(now: Int64, earlier: Int64) {
    #expect(now.elapsed(since: earlier) == .max)
  }

  @Test(arguments: [
    (-2, .max), (.min, 1), (.min, 1_700_000_000_000), (.min, .max),
  ] as [(Int64, Int64)])
  func `before it is the least that there is room for`(now: Int64, earlier: Int64) {
    #expect(now.elapsed(since: earlier) == .min)
  }
}
