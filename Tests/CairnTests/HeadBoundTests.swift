import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// Heads under good checksums whose parts do not fit together: nothing that they say counts.
@Suite struct HeadBoundTests {
  private static let device = DeviceID(rawValue: 2)
  private static let identity = DatastoreManager.identity(of: "notes", generation: 0)

  /// One of these segments, which ends with delta `last`; `snapshot`: that has the device's deltas
  /// up to there.
  private static func head(
    _ segments: [(first: UInt64, last: UInt64)], last: UInt64, snapshot: UInt64? = nil
  ) -> Head {
    var head = Head(datastore: identity, device: device)
    (head.generation, head.nonce, head.last) = (1, 7, last)
    head.segments = segments.map { part in
      Head.Segment(first: part.first, last: part.last, size: 200, hash: 1)
    }
    head.snapshot = snapshot.map { reach in
      Head.Snapshot(
        hash: 5, size: 300, content: 9,
        vector: VersionVector([Dot(device: device, sequence: reach)]), fence: VersionVector())
    }
    return head
  }

  /// Why bytes are no head of the datastore; nil if they are one.
  private func reason(
    _ bytes: [UInt8], of datastore: UInt128 = HeadBoundTests.identity
  ) -> LogError.Reason? {
    do throws(LogError) {
      _ = try Head(bytes, name: "x", datastore: datastore)
      return nil
    } catch { return error.reason }
  }

  private static let misfits: [(String, Head)] = [
    ("segments that overlap", head([(1, 2), (2, 3)], last: 3)),
    ("segments out of order", head([(2, 2), (1, 1)], last: 2)),
    ("the same segment twice", head([(1, 1), (1, 1)], last: 1)),
    ("a segment that ends before it begins", head([(2, 1)], last: 2, snapshot: 2)),
    ("a segment before the first delta", head([(0, 1)], last: 1)),
    ("a segment behind the last delta", head([(1, 2)], last: 1)),
    ("a delta that is nowhere", head([(1, 1)], last: 2)),
    ("a delta that the snapshot lacks, too", head([(1, 1)], last: 3, snapshot: 2)),
    ("a history before the first delta", started),
  ]

  /// It would be taken for another history of its device, and every reader put its store together
  /// anew.
  private static var started: Head {
    var head = Self.head([], last: 0)
    head.chain = 7
    return head
  }

  @Test func `a head whose parts do not fit is none`() {
    for (what, head) in Self.misfits {
      #expect(reason(head.encoded()) == .corrupt, "\(what)")
    }
    var head = Self.head([(1, 1)], last: 1)
    #expect(reason(head.encoded(), of: 1) == .foreign)
    var bytes = head.encoded()
    // The mark of a snapshot is the last thing before the checksum.
    bytes[bytes.count - 17] = 2
    #expect(reason(bytes.resummed()) == .corrupt)
    bytes = head.encoded()
    bytes.insert(0, at: bytes.count - 16)
    #expect(reason(bytes.resummed()) == .corrupt, "something behind the last part")
    head.device = DeviceID(rawValue: 0)
    #expect(reason(head.encoded()) == .corrupt, "no device")
  }

  @Test func `a head's vectors have their devices in order, and each once`() throws {
    // Of one sequence each, so that each has bytes of its own.
    let vectors = (1...4).map { (sequence: UInt64) in
      VersionVector([
        Dot(device: Self.device, sequence: sequence),
        Dot(device: DeviceID(rawValue: 9), sequence: sequence),
      ])
    }
    var head = Self.head([(1, 1)], last: 1, snapshot: 1)
    (head.acknowledged, head.fence) = (vectors[0], vectors[1])
    head.snapshot?.vector = vectors[2]
    head.snapshot?.fence = vectors[3]
    let bytes = head.encoded()
    #expect(reason(bytes) == nil)
    for (number, vector) in vectors.enumerated() {
      var whole: [UInt8] = []
      vector.encode(into: &whole)
      // A count, and two dots of nine bytes.
      let (first, second) = (Array(whole[1..<10]), Array(whole[10..<19]))
      for dots in [second + first, first + first] {
        let wrong = try #require(bytes.replacing(whole, by: [2] + dots))
        #expect(reason(wrong.resummed()) == .corrupt, "vector \(number)")
      }
    }
  }

  @Test func `what is in no segment may be in the snapshot, and between two of them`() throws {
    for head in [
      Self.head([], last: 0), Self.head([(1, 1), (2, 4)], last: 4),
      Self.head([(1, 1), (5, 5)], last: 7, snapshot: 7), Self.head([], last: 3, snapshot: 4),
      Self.head([(1, 1), (5, 5)], last: 5),
    ] {
      #expect(try Head(head.encoded(), name: "x", datastore: Self.identity) == head)
    }
  }

  @Test func `a head that lies under the name of another device is put aside`() async throws {
    let bench = try FolderWorkbench()
    let (a, c) = (try await bench.publisher("a"), try await bench.publisher("c"))
    let b = try bench.open("b")
    try await b.pull()
    let name = bench.head(a)
    let path = bench.shared + "/" + name
    let (good, other) = (try bench.read(path), try bench.read(bench.shared + "/" + bench.head(c)))
    try bench.write(path, other)
    #expect(try await b.pull().problems.map(\.name) == [name])
    #expect(try bench.isQuarantined(other, name, by: "b"))
    try bench.write(path, good)
    #expect(try await b.pull().complaints == [])
    #expect(try b.ids() == ["a", "c"])
  }

  /// A record is enough to retire a device that never was.
  @Test func `a head tells of no more retired devices than there is room for`() {
    let many = Set((1...UInt64(20_000)).map(DeviceID.init(rawValue:)))
    let some: [UInt64] = [3, 9, 30_000]
    let seen = VersionVector(some.map { Dot(device: DeviceID(rawValue: $0), sequence: 1) })
    let few = Set(many.filter { $0.rawValue <= 100 })
    // Of these nothing need be here.
    #expect(Exchange.retiredToTell(few, seen) == few.sorted())
    #expect(Exchange.retiredToTell(many, seen).map(\.rawValue) == [3, 9])
    let all = VersionVector(many.map { Dot(device: $0, sequence: 1) })
    let told = Exchange.retiredToTell(many, all)
    #expect(told == many.sorted().prefix(Exchange.retiredMost).map(\.self))
    #expect(told.count * 8 < Head.bytesMax / 100)
  }

  @Test func `a head that nobody reads is not written`() {
    #expect(throws: Never.self) { try Exchange.checkHeadSize(Head.bytesMax, "x") }
    let error = #expect(throws: CairnError.self) {
      try Exchange.checkHeadSize(Head.bytesMax + 1, "x")
    }
    #expect(error?.code == .sizeLimit && error?.file == "x")
  }
}
