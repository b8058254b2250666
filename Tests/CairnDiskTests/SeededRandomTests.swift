import TestSupport
import Testing

struct SeededRandomTests {
  @Test func `a seed has always the same numbers`() {
    // The reference values of splitmix64 for the seed 1234567.
    let random = SeededRandom(1_234_567)
    #expect(random.next() == 6_457_827_717_110_365_317)
    #expect(random.next() == 3_203_168_211_198_807_973)
    #expect(random.next() == 9_817_491_932_198_370_423)
  }

  @Test func `different seeds have different numbers`() {
    #expect(Set((0..<1000).map { SeededRandom($0).next() }).count == 1000)
  }

  @Test func `it works for the standard library`() {
    var a = SeededRandom(1)
    var b = SeededRandom(1)
    let shuffled = (0..<100).shuffled(using: &a)
    #expect(shuffled != Array(0..<100))
    #expect(shuffled == (0..<100).shuffled(using: &b))
  }

  @Test func `choices are in their range and all come up`() {
    let random = SeededRandom(2)
    #expect(Set((0..<200).map { _ in random.below(5) }) == [0, 1, 2, 3, 4])
    #expect(Set((0..<50).map { _ in random.coin() }).count == 2)
    #expect(random.bytes(9).count == 9)
  }
}
