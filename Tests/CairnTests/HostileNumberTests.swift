import CairnBytes
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import Cairn

/// Numbers at the end of their range, under good checksums: what is counted on from them, or added
/// to them, must not overflow. Whoever can write to the folder can write such files.
@Suite struct HostileNumberTests {
  private static let shared = "/folder/p-notes/"
  private static let identity = DatastoreManager.identity(of: "notes", generation: 0)

  /// A device that has published a record.
  private func bench() async throws -> (CatalogueBench, Datastore) {
    let bench = CatalogueBench()
    let datastore = try bench.manager("a").openOrCreateDatastore("notes")
    try datastore.add("mine")
    try await datastore.exchange()
    return (bench, datastore)
  }

  private func head(_ change: (inout Head) -> Void) -> [UInt8] {
    var head = Head(datastore: Self.identity, device: DeviceID(rawValue: 2))
    head.generation = 1
    change(&head)
    return head.encoded()
  }

  private static let heads: [(String, @Sendable (inout Head) -> Void)] = [
    ("sizes of segments", { head in
      head.last = 2
      head.segments = (1...2).map { Head.Segment(first: $0, last: $0, size: .max, hash: 1) }
    }),
    ("generation", { $0.generation = .max }),
    ("sequence", { head in
      head.last = .max
      head.segments = [Head.Segment(first: 1, last: .max, size: 200, hash: 1)]
    }),
    ("acknowledged sequence", { $0.acknowledgedAt = .max }),
    ("vector", { $0.acknowledged = VersionVector([Dot(device: $0.device, sequence: .max)]) }),
  ]

  @Test(arguments: 0..<5)
  func `a head that no device can count on from is put aside`(_ number: Int) async throws {
    let (what, change) = Self.heads[number]
    let (bench, datastore) = try await bench()
    try bench.disk.setBytes(Self.shared + "0000000000000002.head", head(change))
    for round in 0..<2 {
      let report = try await datastore.exchange()
      #expect(report.complaints == ["0000000000000002.head"], "\(what) \(round)")
      _ = try await datastore.devices()
      try datastore.add("more \(round)".replacing(" ", with: "-"))
    }
    try datastore.close()
  }

  /// Its own head, come back with its nonce and other numbers, and the one that takes its place.
  private func ownHead(
    _ change: (inout Head) -> Void
  ) async throws -> (report: ExchangeReport, head: Head) {
    let (bench, datastore) = try await bench()
    let path = Self.shared + datastore.device + ".head"
    let bytes = try #require(bench.disk.bytes(path))
    var head = try Head(bytes, name: path, datastore: Self.identity)
    change(&head)
    try bench.disk.setBytes(path, head.encoded() + [])
    bench.clock.advance(by: 10)
    try datastore.close()
    let again = try bench.manager("a").openDatastore("notes")
    try again.add("more")
    _ = try await again.exchange()
    let report = try await again.exchange()
    #expect(try again.ids() == ["mine", "more"])
    try again.close()
    let written = try #require(bench.disk.bytes(path))
    return (report, try Head(written, name: path, datastore: Self.identity))
  }

  @Test func `an own head at the last generation is written again`() async throws {
    let last = try await ownHead { $0.generation = .max }
    #expect(last.head.last == 2)
    let next = try await ownHead { $0.generation = ByteReader.counterMax - 1 }
    #expect(next.report.complaints.isEmpty)
    #expect(next.head.last == 2 && next.head.generation == ByteReader.counterMax)
    // Nothing is beyond it: such a head could not be read again, nor the datastore be opened.
    let end = try await ownHead { $0.generation = ByteReader.counterMax }
    #expect(end.report.complaints.isEmpty)
    #expect(end.head.last == 2 && end.head.generation == ByteReader.counterMax)
  }

  @Test func `a snapshot that was replaced before time began is dropped`() async throws {
    let found = try await ownHead {
      $0.superseded = [
        Head.Superseded(name: FileName.sharedSnapshot(5), time: .min),
        Head.Superseded(name: "x", time: .max),
      ]
    }
    #expect(found.report.complaints.isEmpty)
    #expect(found.head.superseded.map(\.name) == ["x"], "that one is still to come")
  }

  @Test func `a name in the inbox that promises all deltas there can be is none`() async throws {
    let (bench, datastore) = try await bench()
    try datastore.close()
    for (first, last) in [("1", "18446744073709551615"), ("2", "18446744073709551615")] {
      let hash = String(repeating: "0", count: 32)
      let name = "0000000000000002-\(first)-\(last)-\(hash).seg"
      #expect(FileName.published(name) == nil)
      try bench.disk.setBytes("/a/p-notes/inbox/" + name, [1, 2, 3])
    }
    let again = try bench.manager("a").openDatastore("notes")
    #expect(try await again.exchange().complaints.isEmpty)
    #expect(try again.ids() == ["mine"])
    try again.close()
  }

  @Test func `a catalogue at its last revision is refused`() throws {
    var file = CatalogueFile(folder: 1, installation: 2)
    file.revision = .max
    #expect(throws: LogError.self) { try CatalogueFile(file.encoded(), name: "x") }
    file.revision = ByteReader.counterMax
    #expect(try CatalogueFile(file.encoded(), name: "x") == file)
  }
}
