import Cairn
import CairnBytes
import CairnLog
import TestSupport
import Testing

/// Spoiled files in the folder: a round goes on without them, says which, and takes what is good.
@Suite struct FolderFaultTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  /// One way to spoil a file of given bytes, and whether a copy is kept aside: half a file is
  /// merely waited for.
  struct Damage: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var isKept: Bool
    var spoil: @Sendable ([UInt8]) -> [UInt8]

    init(_ name: String, kept: Bool, _ spoil: @escaping @Sendable ([UInt8]) -> [UInt8]) {
      (testDescription, isKept, self.spoil) = (name, kept, spoil)
    }

    static let ofAnyFile: [Damage] = [
      Damage("zero length", kept: false) { _ in [] },
      Damage("zero-filled", kept: true) { [UInt8](repeating: 0, count: $0.count) },
      Damage("foreign content", kept: true) { SeededRandom(1).bytes($0.count) },
      Damage("a flipped bit in the magic", kept: true) { $0.flipped(at: 0) },
      Damage("a flipped bit in the header", kept: true) { $0.flipped(at: 40) },
      Damage("a flipped bit in the middle", kept: true) { $0.flipped(at: $0.count / 2) },
      Damage("a flipped bit in the checksum", kept: true) { $0.flipped(at: $0.count - 1) },
    ]
  }

  /// A round that meets one spoiled file of `a`; `c` has published, too, and `b` has its own.
  private func meet(
    _ name: String, _ bad: [UInt8], isKept: Bool, a: Datastore, before: Set<String> = []
  ) async throws {
    let path = bench.shared + "/" + name
    let good = try bench.read(path)
    let b = try bench.open("b")
    try b.add("b")
    try b.table("t").insert(["uncommitted": true], id: "mine")
    _ = try await bench.publisher("c")
    try bench.write(path, bad)
    let report = try await b.exchange()
    #expect(report.complaints == [name])
    #expect(try b.ids() == before.union(["b", "mine"]))
    try b.sync()
    #expect(try b.ids() == before.union(["b", "c", "mine"]))
    #expect(try bench.isQuarantined(bad, name, by: "b") == isKept)
    // It stays a complaint while it stays as it is, and nothing of it is taken.
    let again = try await b.pull()
    #expect(again.complaints == [name] && again.fetchedFiles == 0)
    try bench.write(path, good)
    let mended = try await b.pull()
    #expect(mended.complaints == [])
    #expect(try b.ids() == before.union(["a", "b", "c", "mine"]))
    #expect(try content(b)["t/a"] == content(a)["t/a"])
  }

  // MARK: a segment

  static let segmentDamages: [Damage] =
    Damage.ofAnyFile + [
      Damage("one byte long", kept: false) { [UInt8]($0.prefix(1)) },
      Damage("its header only", kept: false) { [UInt8]($0.prefix(112)) },
      Damage("all but a byte", kept: false) { $0.dropLast() },
      Damage("a byte too long", kept: false) { $0 + [0] },
      Damage("twice", kept: false) { $0 + $0 },
      Damage("an absurd unpacked length", kept: true) {
        var bytes = $0
        bytes.set(UInt32.max, at: 56)
        return bytes.resummedSegment()
      },
      Damage("an absurd stored length", kept: false) {
        var bytes = $0
        bytes.set(UInt32.max, at: 60)
        return bytes.resummedSegment()
      },
      Damage("a newer format", kept: false) {
        var bytes = $0
        (bytes[8], bytes[10]) = (3, 3)
        return bytes.resummedSegment()
      },
      Damage("a body that can't be unpacked", kept: true) {
        var bytes = $0
        for index in 112..<(bytes.count - 16) { bytes[index] = 0xFF }
        return bytes.resummedSegment()
      },
    ]

  @Test(arguments: segmentDamages)
  func `a spoiled segment harms nobody and comes when it is whole`(damage: Damage) async throws {
    let a = try await bench.publisher("a")
    let name = try bench.segment(a)
    let bad = damage.spoil(try bench.read(bench.shared + "/" + name))
    try await meet(name, bad, isKept: damage.isKept, a: a)
  }

  /// What a head vouches for, size and checksums and all, and what is still wrong.
  private func lie(_ kind: String, _ segment: PublishedSegment) -> PublishedSegment {
    var lie = segment
    switch kind {
    case "a bomb": lie.pack = [UInt8](repeating: 0, count: PublishedSegment.rawBytesMax)
    case "a bomb above the limit":
      lie.pack = [UInt8](repeating: 0, count: PublishedSegment.rawBytesMax + 1)
    case "no deltas": lie.pack = []
    case "noise": lie.pack = SeededRandom(2).bytes(1000)
    case "half its deltas": lie.pack.removeLast(lie.pack.count / 2)
    case "another datastore": lie.datastore ^= 1
    case "another history": lie.chainAfter ^= 1
    default: lie.pack[lie.pack.count / 2] ^= 0x80
    }
    return lie
  }

  @Test(arguments: [
    "a bomb", "a bomb above the limit", "no deltas", "noise", "half its deltas",
    "another datastore", "another history", "a changed byte",
  ])
  func `what is wrong behind good checksums is refused as a whole`(kind: String) async throws {
    let a = try await bench.publisher("a")
    let name = try bench.segment(a)
    let old = try bench.read(bench.shared + "/" + name)
    let hash = XXH3.hash128(Array("cairn datastore notes".utf8))
    let segment = try PublishedSegment(old, name: name, datastore: hash)
    let (bytes, badName) = lie(kind, segment).encoded()
    let headPath = bench.shared + "/" + bench.head(a)
    let head = try bench.read(headPath)
    try bench.write(bench.shared + "/" + badName, bytes)
    try bench.write(headPath, try #require(head.naming(bytes, insteadOf: old)))
    let b = try bench.open("b")
    try b.add("b")
    _ = try await bench.publisher("c")
    let report = try await b.pull()
    #expect(report.complaints == [badName])
    #expect(try b.ids() == ["b", "c"])
    // One of no deltas at all is shorter than a file can be: as if it were only half there.
    #expect(try bench.isQuarantined(bytes, badName, by: "b") == (kind != "no deltas"))
    try bench.write(headPath, head)
    try await b.pull()
    #expect(try b.ids() == ["a", "b", "c"])
  }

  @Test func `a segment that a head names is waited for until it is there`() async throws {
    let a = try await bench.publisher("a")
    let name = try bench.segment(a)
    let bytes = try bench.read(bench.shared + "/" + name)
    try bench.remove(bench.shared + "/" + name)
    _ = try await bench.publisher("c")
    let b = try bench.open("b")
    let report = try await b.pull()
    #expect(report.waiting.map(\.name) == [name] && report.problems == [])
    #expect(report.waiting.first?.bytes == UInt64(bytes.count))
    #expect(try b.ids() == ["c"])
    try bench.write(bench.shared + "/" + name, bytes)
    let later = try await b.pull()
    #expect(later.waiting == [] && later.fetchedDeltas == 1)
    #expect(try b.ids() == ["a", "c"])
  }

  // MARK: a head

  static let headDamages: [Damage] =
    Damage.ofAnyFile + [
      Damage("one byte long", kept: false) { [UInt8]($0.prefix(1)) },
      Damage("half there", kept: true) { [UInt8]($0.prefix($0.count / 2 + 30)) },
      Damage("all but a byte", kept: true) { $0.dropLast() },
      Damage("twice", kept: true) { $0 + $0 },
      Damage("a newer format", kept: false) {
        var bytes = $0
        (bytes[8], bytes[10]) = (2, 2)
        return bytes.resummed()
      },
      Damage("another datastore", kept: true) { $0.flipped(at: 16).resummed() },
      Damage("another device", kept: true) { $0.flipped(at: 32).resummed() },
      Damage("an absurd length of a text", kept: true) {
        var bytes = $0
        bytes[56] = 0x7F
        return bytes.resummed()
      },
      Damage("an absurd number", kept: true) {
        var bytes = $0
        for index in 56..<66 { bytes[index] = 0xFF }
        return bytes.resummed()
      },
      Damage("zeroes behind a good start", kept: true) {
        var bytes = $0
        for index in 60..<(bytes.count - 16) { bytes[index] = 0 }
        return bytes.resummed()
      },
    ]

  @Test(arguments: headDamages)
  func `a spoiled head harms nobody and counts when it is whole`(damage: Damage) async throws {
    let a = try await bench.publisher("a")
    let name = bench.head(a)
    let bad = damage.spoil(try bench.read(bench.shared + "/" + name))
    try await meet(name, bad, isKept: damage.isKept, a: a)
  }

  @Test func `an older head that is put back is ignored`() async throws {
    let a = try await bench.publisher("a")
    let path = bench.shared + "/" + bench.head(a)
    let old = try bench.read(path)
    try a.add("a2")
    try await a.exchange()
    let new = try bench.read(path)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a", "a2"])
    try bench.write(path, old)
    try a.close()
    let report = try await b.pull()
    #expect(report.complaints == [])
    #expect(try b.ids() == ["a", "a2"])
    #expect(try await b.devices().first { $0.id == a.device }?.publishedDeltas == 2)
    try bench.write(path, new)
    #expect(try await b.pull().complaints == [])
  }

  // MARK: a snapshot

  /// `a` has published a snapshot and all deltas in it.
  private func withSnapshot() async throws -> (a: Datastore, name: String) {
    let a = try await bench.publisher("a")
    let random = SeededRandom(3)
    for index in 0..<400 {
      try a.table("t").insert(["bytes": .bytes(random.bytes(1000))], id: RecordID("r\(index)"))
    }
    try a.sync()
    try await a.exchange()
    try a.compact()
    let report = try await a.exchange()
    try #require(report.publishedSnapshot)
    return (a, try #require(try bench.names(bench.shared, ".snap").first))
  }

  @Test(arguments: Damage.ofAnyFile + [
    Damage("all but a byte", kept: false) { $0.dropLast() },
    Damage("one byte long", kept: false) { [UInt8]($0.prefix(1)) },
    Damage("a newer format", kept: true) {
      var bytes = $0
      (bytes[8], bytes[10]) = (2, 2)
      bytes.set(XXH3.hash64(bytes, 0..<120), at: 120)
      return bytes
    },
  ])
  func `instead of a spoiled snapshot all deltas are fetched`(damage: Damage) async throws {
    let (a, name) = try await withSnapshot()
    let path = bench.shared + "/" + name
    let bytes = try bench.read(path)
    try bench.write(path, damage.spoil(bytes))
    let b = try bench.open("b")
    let report = try await b.pull()
    #expect(!report.fetchedSnapshot)
    // Of another length it is not even looked at.
    #expect(report.complaints == (damage.spoil(bytes).count == bytes.count ? [name] : []))
    #expect(try content(b) == content(a))
  }

  @Test(arguments: ["a newer format", "noise"])
  func `a snapshot that its head vouches for and that can't be read`(kind: String) async throws {
    let (a, name) = try await withSnapshot()
    let path = bench.shared + "/" + name
    let good = try bench.read(path)
    var bad = good
    if kind == "noise" {
      bad = SeededRandom(4).bytes(good.count)
    } else {
      (bad[8], bad[10]) = (3, 3)
      bad.set(XXH3.hash64(bad, 0..<120), at: 120)
    }
    let headPath = bench.shared + "/" + bench.head(a)
    let head = try bench.read(headPath)
    func sum(_ bytes: [UInt8]) -> [UInt8] {
      var sum: [UInt8] = []
      let hash = XXH3.hash128(bytes)
      sum.put(UInt64(truncatingIfNeeded: hash))
      sum.put(UInt64(truncatingIfNeeded: hash >> 64))
      return sum
    }
    let lying = try #require(head.replacing(sum(good), by: sum(bad))).resummed()
    try bench.write(headPath, lying)
    try bench.write(path, bad)
    let b = try bench.open("b")
    #expect(try await b.pull().fetchedSnapshot)
    #expect(try b.ids() == [])
    let report = try await b.pull()
    #expect(!report.fetchedSnapshot && report.complaints == [name])
    #expect(try content(b) == content(a))
    #expect(try await b.pull().complaints == [])
  }

  // MARK: cairn.json

  @Test(arguments: [
    Damage("zero length", kept: false) { _ in [] },
    Damage("cut", kept: false) { [UInt8]($0.prefix(10)) },
    Damage("cut in the identity", kept: false) { [UInt8]($0.prefix(50)) },
    Damage("cut before the floor", kept: false) { [UInt8]($0.prefix(79)) },
    Damage("cut in the check", kept: false) { [UInt8]($0.prefix(95)) },
    Damage("zero-filled", kept: false) { [UInt8](repeating: 0, count: $0.count) },
    Damage("noise", kept: false) { SeededRandom(5).bytes($0.count) },
    Damage("a name with a flipped bit", kept: false) { $0.flipped(at: 28) },
    Damage("far too long", kept: false) { $0 + [UInt8](repeating: 32, count: 5000) },
    Damage("a newer format", kept: false) { [UInt8]($0.prefix(79)) + Array("2}\n".utf8) },
  ])
  func `a folder whose identity can't be read is left alone`(damage: Damage) async throws {
    _ = try await bench.publisher("a")
    let path = bench.folder + "/cairn.json"
    let good = try bench.read(path)
    let bad = damage.spoil(good)
    try bench.write(path, bad)
    let files = try bench.names(bench.shared)
    let b = try bench.open("b")
    try b.add("b")
    let error = await b.exchangeError()
    // One that is only the beginning of a file may still be on its way.
    let isHalf = good.starts(with: bad)
    let isNewer = damage.testDescription == "a newer format"
    #expect(error?.code == (isNewer ? .needsNewerVersion : isHalf ? .retryLater : .corrupt))
    #expect(error?.message.contains("cairn.json") == true)
    #expect(error?.isProgrammingError == false)
    #expect(try bench.read(path) == bad)
    #expect(try bench.names(bench.shared) == files)
    #expect(try b.ids() == ["b"])
    try bench.write(path, good)
    try await b.pull()
    #expect(try b.ids() == ["a", "b"])
  }

  // MARK: order

  @Test func `files of a device may come in any order`() async throws {
    let a = try bench.open("a")
    for index in 1...4 {
      try a.add("a\(index)")
      try await a.exchange()
    }
    let files = try bench.segments(a)
    try #require(files.count == 4)
    let away = bench.place.path + "/away"
    try bench.move(bench.shared, to: away)
    try bench.makeDirectory(bench.shared)
    let b = try bench.open("b")
    let order = [files[2], bench.head(a), files[0], files[3], files[1]]
    let visible: [Set<String>] = [[], [], ["a1"], ["a1"], ["a1", "a2", "a3", "a4"]]
    for (name, expected) in zip(order, visible) {
      try bench.write(bench.shared + "/" + name, try bench.read(away + "/" + name))
      let report = try await b.pull()
      #expect(report.problems == [])
      #expect(report.waiting.isEmpty == (expected.count == 4 || name == files[2]))
      #expect(try b.ids() == expected)
    }
  }

  @Test func `an answer waits for what it answers, also over a restart`() async throws {
    let a = try await bench.publisher("a")
    let c = try bench.open("c")
    try await c.pull()
    try c.table("t")["a"].set("answer", "yes")
    try c.sync()
    try await c.exchange()
    let (head, segment) = (bench.head(a), try bench.segment(a))
    let away = bench.place.path + "/away"
    try bench.makeDirectory(away)
    for name in [head, segment] { try bench.move(bench.shared + "/" + name, to: away + "/" + name) }
    let b = try bench.open("b")
    let report = try await b.pull()
    #expect(report.fetchedDeltas == 1)
    #expect(try b.ids() == [])
    // No sync can use it as it is; what it builds on is still to come.
    #expect(!b.status.incoming && b.status.downloading)
    try b.close()
    let again = try bench.open("b")
    #expect(try again.ids() == [])
    for name in [head, segment] { try bench.move(away + "/" + name, to: bench.shared + "/" + name) }
    try await again.pull()
    #expect(try again.ids() == ["a"])
    #expect(try again.table("t")["a"].string("answer") == "yes")
  }
}
