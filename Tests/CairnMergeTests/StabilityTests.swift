import CairnMerge
import Testing

struct StabilityTests {
  private let a = DeviceID(rawValue: 1)
  private let b = DeviceID(rawValue: 2)
  private let c = DeviceID(rawValue: 3)

  private func vector(_ counts: KeyValuePairs<DeviceID, UInt64>) -> VersionVector {
    VersionVector(counts.map { Dot(device: $0.key, sequence: $0.value) })
  }

  private func stable(
    contexts: [DeviceID: VersionVector] = [:],
    words: [DeviceID: Stability.Acknowledgement] = [:], members: [DeviceID]
  ) -> VersionVector {
    Stability.stable(
      own: vector([a: 5, b: 3]), contexts: contexts, acknowledgements: words, members: members)
  }

  @Test func `alone, everything is stable`() {
    #expect(stable(members: []) == vector([a: 5, b: 3]))
  }

  @Test func `a member that has said nothing holds the fence`() {
    #expect(stable(contexts: [b: vector([a: 5, b: 3])], members: [b, c]).isEmpty)
  }

  @Test func `the context of a delta counts`() {
    #expect(
      stable(contexts: [b: vector([a: 2, b: 3])], members: [b]) == vector([a: 2, b: 3]))
  }

  @Test func `an acknowledgement counts once its author's deltas are here`() {
    let word = Stability.Acknowledgement(seen: vector([a: 4, b: 4]), sequence: 4)
    let contexts = [b: vector([a: 2, b: 3])]
    #expect(
      stable(contexts: contexts, words: [b: word], members: [b]) == vector([a: 2, b: 3]))
    let earlier = Stability.Acknowledgement(seen: vector([a: 4, b: 3]), sequence: 3)
    #expect(
      stable(contexts: contexts, words: [b: earlier], members: [b]) == vector([a: 4, b: 3]))
  }

  @Test func `the fence never goes beyond what is here`() {
    let word = Stability.Acknowledgement(seen: vector([a: 9, b: 3, c: 2]), sequence: 3)
    #expect(stable(words: [b: word], members: [b]) == vector([a: 5, b: 3]))
  }
}
