import Cairn
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
}
