import Cairn
import CairnCDB
import Foundation
import TestSupport
import Testing

/// Beside tinycdb and freecdb, where they are installed: Tools/setup --cdb tries to have them.
@Suite struct CDBPeerTests {
  static let tinycdb = installed("cdb")
  static let cdbmake = installed("cdbmake")

  private static func installed(_ program: String) -> Bool {
    ["/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"].contains {
      FileManager.default.isExecutableFile(atPath: $0 + program)
    }
  }

  /// Runs a program in a directory. Returns its output.
  private func run(
    _ arguments: [String], in place: TemporaryDirectory, input: String? = nil
  ) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: place.path)
    process.standardInput =
      try input.map { try FileHandle(forReadingFrom: URL(filePath: place.path($0))) }
      ?? FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(arguments)")
    return [UInt8](data)
  }

  private func bytes(_ name: String, in place: TemporaryDirectory) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: place.path(name))))
  }

  private func write(_ records: [CDBSample.Record], in place: TemporaryDirectory) throws {
    try Data(CDBSample.text(records)).write(to: URL(filePath: place.path("text")))
    let writer = try CDBWriter(place.path("ours"))
    for record in records { try writer.add(record.key, record.value) }
    try writer.finish()
  }

  @Test(
    .enabled(if: CDBPeerTests.tinycdb, "tinycdb is not installed"), arguments: [UInt64(1), 2, 3])
  func `tinycdb writes the same bytes and reads ours`(_ seed: UInt64) throws {
    let place = try TemporaryDirectory()
    let random = SeededRandom(seed)
    let records = CDBSample.random(Int(seed * seed) * 500, random)
    try write(records, in: place)
    _ = try run(["cdb", "-c", "theirs", "text"], in: place)
    #expect(try bytes("theirs", in: place) == bytes("ours", in: place), "seed \(seed)")
    #expect(try run(["cdb", "-d", "ours"], in: place) == bytes("text", in: place))
    #expect(CDBSample.isEqual(try CDBSample.all(CDBFile(place.path("theirs"))), records))
  }

  @Test(
    .enabled(if: CDBPeerTests.cdbmake, "freecdb is not installed"), arguments: [UInt64(1), 2, 3])
  func `freecdb writes the same bytes and reads ours`(_ seed: UInt64) throws {
    let place = try TemporaryDirectory()
    let records = CDBSample.random(Int(seed * seed) * 500, SeededRandom(seed + 10))
    try write(records, in: place)
    _ = try run(["cdbmake", "theirs", "temporary"], in: place, input: "text")
    #expect(try bytes("theirs", in: place) == bytes("ours", in: place), "seed \(seed)")
    #expect(try run(["cdbdump"], in: place, input: "ours") == bytes("text", in: place))
  }

  @Test(.enabled(if: CDBPeerTests.tinycdb, "tinycdb is not installed"))
  func `tinycdb finds what a store has saved`() throws {
    let place = try TemporaryDirectory()
    let store = CDBStore<[UInt8], [UInt8]>(place.path("s"), keys: .bytes, values: .raw)
    try store.open()
    for number in 0..<300 {
      try store.set(CDBSample.bytes("value \(number)"), for: CDBSample.bytes("\(number)"))
    }
    try store.save()
    try store.remove(CDBSample.bytes("7"))
    try store.set(CDBSample.bytes("other"), for: CDBSample.bytes("8"))
    try store.close()
    #expect(try run(["cdb", "-q", "s", "8"], in: place) == CDBSample.bytes("other"))
    #expect(try run(["cdb", "-q", "s", "299"], in: place) == CDBSample.bytes("value 299"))
    #expect(try CDBSample.records(run(["cdb", "-d", "s"], in: place)).count == 299)
  }

  /// Zeros without a key, to which no slot points, take the place of what was replaced.
  @Test(.enabled(if: CDBPeerTests.tinycdb, "tinycdb is not installed"))
  func `what tinycdb leaves of replaced records is none`() throws {
    let place = try TemporaryDirectory()
    // One has really no key and a value of zeros.
    let real = "+0,1:->\0\n"
    for (more, keys) in [("", 3), (real, 4)] {
      let text = "+1,1:a->1\n" + more + "+1,1:b->2\n+1,2:a->33\n+1,1:c->4\n\n"
      try Data(text.utf8).write(to: URL(filePath: place.path("text")))
      _ = try run(["cdb", "-c", "-0", "z", "text"], in: place)
      #expect(try CDBSample.all(CDBFile(place.path("z"))).count == keys + 1)
      let found = try CDBFile(place.path("z")).statistics()
      #expect((found.records, found.keys, found.keyBytes) == (keys, keys, 3))
      #expect(found.distances.reduce(0, +) == keys)
      let store = CDBStore<[UInt8], [UInt8]>(place.path("z"), keys: .bytes, values: .raw)
      try store.open()
      try store.set(CDBSample.bytes("5"), for: CDBSample.bytes("d"))
      #expect(try store.save())
      #expect(try store.contains([]) == (keys == 4))
      try store.close()
      let saved = more + "+1,1:b->2\n+1,2:a->33\n+1,1:c->4\n+1,1:d->5\n\n"
      #expect(try run(["cdb", "-d", "z"], in: place) == CDBSample.bytes(saved))
    }
  }
}
