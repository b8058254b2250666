import Cairn
import CairnDisk
import TestSupport
import Testing

/// What a crash leaves is no damage: a check says what it is, and opening goes on.
struct CrashTraceTests {
  private func inspect(_ root: String, _ id: String) throws
    -> [DatastoreInspector.VerifyReport.Problem]
  {
    let inspector = try DatastoreInspector(root: root, id: id)
    defer { inspector.close() }
    return try inspector.verify().problems
  }

  @Test(arguments: [0, 30, 65536])
  func `a segment without a header is the trace of a crash`(length: Int) throws {
    let bench = try FolderWorkbench()
    let datastore = try bench.open("A")
    try datastore.add("x")
    try datastore.close()
    // As a kill between the creation of a file and its first write leaves it.
    let log = bench.root("A") + "/p-\(bench.id)/log"
    let names = try bench.names(log)
    #expect(names.count == 1)
    let reopened = try bench.open("A")
    try reopened.compact()
    try reopened.close()
    let path = log + "/0000000000000002.seg"
    let file = try PosixDisk().open(path, .create)
    try file.write([UInt8](repeating: 0, count: length).span, at: 0)
    file.close()
    let problems = try inspect(bench.root("A"), bench.id)
    #expect(problems.map(\.file) == [path])
    #expect(problems.allSatisfy { !$0.isDamage })
    let again = try bench.open("A")
    try again.add("y")
    try again.close()
    #expect(try inspect(bench.root("A"), bench.id).isEmpty)
  }

  @Test func `what waits in the inbox is fetched again, whatever a power cut made of it`()
    async throws
  {
    let bench = try FolderWorkbench()
    _ = try await bench.publisher("B")
    let datastore = try bench.open("A")
    try await datastore.exchange()
    try datastore.close()
    let inbox = bench.root("A") + "/p-\(bench.id)/inbox"
    let name = try #require(try bench.names(inbox).first)
    try PosixDisk().open(inbox + "/" + name, .readWrite).truncate(to: 0)
    let problems = try inspect(bench.root("A"), bench.id)
    #expect(problems.map(\.file) == [inbox + "/" + name])
    #expect(problems.allSatisfy { !$0.isDamage })
    let again = try bench.open("A")
    #expect(try again.sync().incorporated == 0)
    #expect(try await again.exchange().fetchedFiles == 1)
    #expect(try again.sync().incorporated == 1)
    try again.close()
  }
}
