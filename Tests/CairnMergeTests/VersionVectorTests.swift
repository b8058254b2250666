import CairnMerge
import TestSupport
import Testing

struct VersionVectorTests {
  private func device(_ number: UInt64) -> DeviceID { DeviceID(rawValue: number) }

  @Test func `it behaves like a dictionary`() {
    let random = SeededRandom(1)
    for _ in 0..<300 {
      var (vector, model) = (VersionVector(), [DeviceID: UInt64]())
      for _ in 0..<20 {
        let (device, sequence) = (device(UInt64(random.below(6))), UInt64(random.below(4)))
        vector[device] = sequence
        model[device] = sequence == 0 ? nil : sequence
        #expect(vector.entries.count == model.count)
        #expect(vector.entries.allSatisfy { model[$0.device] == $0.sequence })
        #expect(zip(vector.entries, vector.entries.dropFirst()).allSatisfy { $0 < $1 })
      }
    }
  }

  @Test func `merge and meet are the least upper and the greatest lower bound`() {
    let random = SeededRandom(2)
    func vector() -> VersionVector {
      var vector = VersionVector()
      for number in 1...4 { vector[device(UInt64(number))] = UInt64(random.below(4)) }
      return vector
    }
    for _ in 0..<1_000 {
      let (a, b, c) = (vector(), vector(), vector())
      let (upper, lower) = (a.merged(with: b), a.meet(b))
      #expect(upper.covers(a) && upper.covers(b) && a.covers(lower) && b.covers(lower))
      #expect(!(c.covers(a) && c.covers(b)) || c.covers(upper))
      #expect(!(a.covers(c) && b.covers(c)) || lower.covers(c))
      #expect(a.merged(with: lower) == a && a.meet(upper) == a)
    }
  }

  @Test func `every vector contains what is settled`() {
    #expect(VersionVector().contains(Stamp.settled.dot))
    #expect(!VersionVector().contains(Dot(device: device(1), sequence: 1)))
  }

  @Test func `a device is written as sixteen digits and read back`() {
    for id in [device(0), device(0xAB), device(.max)] {
      #expect(id.description.utf8.count == 16)
      #expect(DeviceID(hex: id.description) == id)
    }
    #expect(device(0xAB).description == "00000000000000ab")
    for text in ["", "ab", "00000000000000AB", "00000000000000g0", "000000000000000ab"] {
      #expect(DeviceID(hex: text) == nil)
    }
  }

  @Test func `commit order goes by time, then device, then sequence`() {
    func stamp(_ time: Int64, _ number: UInt64, _ sequence: UInt64) -> Stamp {
      Stamp(dot: Dot(device: device(number), sequence: sequence), time: time)
    }
    let ordered = [stamp(1, 2, 9), stamp(2, 1, 5), stamp(2, 1, 6), stamp(2, 2, 1)]
    for (index, a) in ordered.enumerated() {
      for (other, b) in ordered.enumerated() { #expect((a < b) == (index < other)) }
    }
  }
}
