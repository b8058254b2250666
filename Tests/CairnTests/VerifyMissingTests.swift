import Cairn
import CairnDisk
import TestSupport
import Testing

/// A check of every byte tells what is not there, too.
struct VerifyMissingTests {
  /// What was written since the last exchange is in the snapshot, and its segment is only kept
  /// until it is published. Without it the datastore can't be opened.
  @Test func `a first segment that is gone is told`() throws {
    let bench = try FolderWorkbench()
    let datastore = try bench.open("A")
    try datastore.add("x")
    try datastore.compact()
    try datastore.close()
    let log = bench.root("A") + "/p-\(bench.id)/log"
    let name = try #require(try bench.names(log, ".seg").first)
    try bench.remove(log + "/" + name)
    #expect(throws: CairnError.self) { try bench.open("A") }
    let inspector = try DatastoreInspector(root: bench.root("A"), id: bench.id)
    defer { inspector.close() }
    let problems = try inspector.verify().problems
    #expect(problems.map(\.file) == [log + "/" + name])
    #expect(problems.allSatisfy { $0.isDamage })
  }

  @Test func `so is a last one where all are in the snapshot`() async throws {
    let bench = try FolderWorkbench()
    bench.options.segmentBytes = 64 << 10
    bench.options.compactsAutomatically = false
    let datastore = try bench.open("A")
    let random = SeededRandom(1)
    for number in 0..<4 {
      let bytes = random.bytes(50_000)
      try datastore.table("t").insert(["x": .bytes(bytes)], id: RecordID("r\(number)"))
      try datastore.sync()
    }
    try datastore.compact()
    try datastore.close()
    let log = bench.root("A") + "/p-\(bench.id)/log"
    let names = try bench.names(log, ".seg")
    try #require(names.count > 1)
    let last = log + "/" + names[names.count - 1]
    try bench.remove(last)
    let error = #expect(throws: CairnError.self) { try bench.open("A") }
    #expect(error?.code == .corrupt && error?.file == last)
    let inspector = try DatastoreInspector(root: bench.root("A"), id: bench.id)
    let problems = try inspector.verify().problems
    inspector.close()
    #expect(problems.map(\.file) == [last])
    #expect(problems.allSatisfy { $0.isDamage })
    let report = try await bench.manager("A").repairDatastore(bench.id)
    #expect(report.losses.map(\.file) == [last] && report.records == 4)
  }

  /// As a kill between the creation of a file and its first write leaves it.
  @Test(arguments: [0, 30, 65536])
  func `a segment that has no header yet is a warning of doctor, too`(length: Int) async throws {
    let bench = try FolderWorkbench()
    let datastore = try bench.open("A")
    try datastore.add("x")
    try datastore.compact()
    try datastore.close()
    let path = bench.root("A") + "/p-\(bench.id)/log/0000000000000002.seg"
    let file = try PosixDisk().open(path, .create)
    try file.write([UInt8](repeating: 0, count: length).span, at: 0)
    file.close()
    let found = await Doctor(root: bench.root("A")).examine().findings.filter { $0.file == path }
    #expect(found.map(\.severity) == [.warning])
    #expect(try await bench.manager("A").repairDatastore(bench.id).wasNeeded == false)
    try bench.open("A").close()
  }
}
