import CairnBytes
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

struct SnapshotDescriptionTests {
  private let sample: SnapshotDescription = {
    let dots = [stamp(1, 20).dot, stamp(9, 1 << 40).dot, stamp(.max, 1).dot]
    var sample = SnapshotDescription()
    sample.vector = VersionVector(dots)
    sample.fence = VersionVector(dots.dropLast())
    sample.contexts = [dots[0].device: sample.vector, dots[1].device: sample.fence]
    sample.modified = -77
    sample.size = 123_456
    sample.recordCount = 99
    sample.tables = [
      SnapshotDescription.Table(name: ":rules", firstBlock: 0, blockCount: 1, rowCount: 2),
      SnapshotDescription.Table(name: "a", firstBlock: 1, blockCount: 3, rowCount: 97),
    ]
    return sample
  }()

  @Test func `it comes back`() throws {
    #expect(try SnapshotDescription(sample.encoded(), blockCount: 4) == sample)
    #expect(
      try SnapshotDescription(SnapshotDescription().encoded(), blockCount: 0)
        == SnapshotDescription())
  }

  @Test func `truncations and flips never trap`() {
    let bytes = sample.encoded()
    for length in 0..<bytes.count {
      #expect(throws: DecodeError.self) {
        try SnapshotDescription(Array(bytes[..<length]), blockCount: 4)
      }
    }
    for bit in 0..<(bytes.count * 8) {
      var bent = bytes
      bent[bit / 8] ^= 1 << UInt8(bit % 8)
      // A checksum stands before it; here only the structure is asked.
      _ = try? SnapshotDescription(bent, blockCount: 4)
    }
  }

  @Test func `tables are sorted, and their blocks are all there are`() {
    #expect(throws: DecodeError.self) { try SnapshotDescription(sample.encoded(), blockCount: 5) }
    #expect(throws: DecodeError.self) { try SnapshotDescription(sample.encoded(), blockCount: 3) }
    var other = sample
    other.tables[1] = SnapshotDescription.Table(
      name: "a", firstBlock: 2, blockCount: 3, rowCount: 97)
    #expect(throws: DecodeError.self) { try SnapshotDescription(other.encoded(), blockCount: 5) }
    other = sample
    other.tables[1] = SnapshotDescription.Table(
      name: ":rules", firstBlock: 1, blockCount: 3, rowCount: 97)
    #expect(throws: DecodeError.self) { try SnapshotDescription(other.encoded(), blockCount: 4) }
  }

  @Test func `vectors name devices, in order and each once`() throws {
    let (one, two) = (stamp(1, 3).dot, stamp(2, 4).dot)
    // A device's number and a sequence take nine bytes.
    func bytes(_ dots: [Dot]) -> [UInt8] {
      var out: [UInt8] = []
      out.putVarint(dots.count)
      for dot in dots {
        out.put(dot.device.rawValue)
        out.putVarint(dot.sequence)
      }
      return out
    }
    /// The vector, the fence, or a context is this one, and all else is nothing.
    func descriptions(_ dots: [Dot], of device: Dot) -> [[UInt8]] {
      let (vector, name) = (bytes(dots), Array(bytes([device])[..<9]))
      let (none, end): ([UInt8], [UInt8]) = ([0], [0, 0, 0, 0])
      let all = bytes([one, two])
      return [
        Array([vector, none, none, end].joined()), Array([none, vector, none, end].joined()),
        Array([all, none, name, vector, end].joined()),
      ]
    }
    let right = VersionVector([one, two])
    let read = try descriptions([one, two], of: one).map {
      try SnapshotDescription($0, blockCount: 0)
    }
    #expect(read.map(\.vector) == [right, VersionVector(), right])
    #expect(read.map(\.fence) == [VersionVector(), right, VersionVector()])
    let contexts: [DeviceContexts] = [[:], [:], [one.device: right]]
    #expect(read.map(\.contexts) == contexts)
    func expectRefusal(_ bytes: [UInt8], _ error: DecodeError) {
      #expect(throws: error) { try SnapshotDescription(bytes, blockCount: 0) }
    }
    for dots in [[two, one], [one, one]] {
      for bytes in descriptions(dots, of: one) {
        expectRefusal(bytes, .malformed("a vector whose devices are out of order"))
      }
    }
    let nobody = stamp(0, 1).dot
    for bytes in descriptions([nobody, one], of: one) + [descriptions([one], of: nobody)[2]] {
      expectRefusal(bytes, .malformed("a device's number"))
    }
  }

  @Test func `contexts are in order, each once, and of what is in the vector`() throws {
    let (one, two, three) = (stamp(1, 3).dot, stamp(2, 4).dot, stamp(3, 1).dot)
    func bytes(_ contexts: [(device: Dot, seen: [Dot])]) -> [UInt8] {
      var out: [UInt8] = []
      VersionVector([one, two]).encode(into: &out)
      VersionVector().encode(into: &out)
      out.putVarint(contexts.count)
      for (device, seen) in contexts {
        out.put(device.device.rawValue)
        VersionVector(seen).encode(into: &out)
      }
      return out + [0, 0, 0, 0]
    }
    let (first, second) = ((device: one, seen: [one]), (device: two, seen: [one, two]))
    let read = try SnapshotDescription(bytes([first, second]), blockCount: 0)
    let contexts: DeviceContexts = [
      one.device: VersionVector([one]), two.device: VersionVector([one, two]),
    ]
    #expect(read.contexts == contexts)
    for disorder in [[second, first], [first, first]] {
      #expect(throws: DecodeError.malformed("contexts whose devices are out of order")) {
        try SnapshotDescription(bytes(disorder), blockCount: 0)
      }
    }
    // What is not there, more than is there, and nothing of the device itself.
    let wrong: [(device: Dot, seen: [Dot])] = [
      (one, [one, three]), (three, [one, three]), (one, [Dot(device: one.device, sequence: 4)]),
      (two, [one]), (three, [one]), (one, []),
    ]
    for context in wrong {
      #expect(throws: DecodeError.malformed("a context of what is not in the snapshot")) {
        try SnapshotDescription(bytes([context]), blockCount: 0)
      }
    }
  }

  @Test func `a shared name depends on the vectors alone`() {
    var other = sample
    other.size = 0
    func name(_ description: SnapshotDescription) -> UInt128 {
      SnapshotDescription.hash(vector: description.vector, fence: description.fence)
    }
    #expect(name(other) == name(sample))
    other.fence = VersionVector()
    #expect(name(other) != name(sample))
    #expect(
      SnapshotDescription.hash(vector: sample.vector, fence: sample.fence)
        != SnapshotDescription.hash(vector: sample.fence, fence: sample.vector))
  }
}
