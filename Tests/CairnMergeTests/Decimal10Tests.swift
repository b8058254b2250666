import CairnMerge
import TestSupport
import Testing

struct Decimal10Tests {
  private func exponent(_ values: [Double]) -> Int? {
    Decimal10.exponent(values.map(\.bitPattern))
  }

  @Test func `short decimals have the exponent one expects`() {
    #expect(exponent([1, 2, 300]) == 0)
    #expect(exponent([1.5]) == 1)
    #expect(exponent([19.99, 5, 0.1]) == 2)
    #expect(exponent([52.370216, 4.895168]) == 6)
    #expect(exponent([0.000_000_001]) == 9)
    #expect(exponent([]) == 0)
  }

  @Test(
    arguments: [
      -0.0, .nan, .infinity, -.infinity, 1e300, 1e-300, .pi, 1.0 / 3, 0x1p53, -0x1p60, 1e-10,
    ] as [Double])
  func `others have none`(value: Double) {
    #expect(exponent([value]) == nil)
    #expect(exponent([1.5, value]) == nil)
    #expect(exponent([value, 1.5]) == nil)
  }

  @Test func `a number of many digits and one of many places do not go together`() {
    #expect(exponent([9e15]) == 0)
    #expect(exponent([9e15, 0.000_000_001]) == nil)
    #expect(exponent([0.000_000_001, 9e15]) == nil)
    #expect(exponent([9_007_199_254_740_991, 0.5]) == nil)
  }

  @Test func `whatever has an exponent comes back bit by bit`() {
    let random = SeededRandom(19)
    var held = 0
    for _ in 0..<20_000 {
      let places = random.below(11)
      let values = (0..<(1 + random.below(4))).map { _ in
        let digits = Int64(bitPattern: random.next()) >> Int64(random.below(64))
        return Double(digits) / [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10][places]
      }
      guard let exponent = exponent(values) else { continue }
      held += 1
      for value in values {
        let back = Decimal10.double(Decimal10.digits(value, exponent), exponent)
        #expect(back.bitPattern == value.bitPattern)
      }
    }
    #expect(held > 5_000)
  }

  @Test func `any digits are a number`() {
    for digits in [Int64.min, -1, 0, 1, .max] {
      for exponent in 0...Decimal10.exponentMax {
        #expect(Decimal10.double(digits, exponent).isFinite)
      }
    }
  }
}
