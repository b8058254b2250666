import Cairn
import TestSupport
import Testing

/// What can be seen of a log without opening the datastore.
@Suite struct InspectorTests {
  @Test func `the last own delta of a segment is told, whatever was fetched behind it`()
    async throws
  {
    let bench = try FolderWorkbench()
    let a = try bench.open("a")
    for number in 0..<3 { try a.add("a\(number)") }
    try await a.exchange()
    let b = try bench.open("b")
    for number in 0..<5 { try b.add("b\(number)") }
    try await b.exchange()
    let own = a.committedDeltas
    try await a.pull()
    #expect(try a.ids().count == 8)
    try #require(own == 3 && a.committedDeltas == own)
    try a.close()
    let inspector = try DatastoreInspector(root: bench.root("a"), id: bench.id)
    defer { inspector.close() }
    let deltas = try inspector.deltas()
    try #require(deltas.last?.isFetched == true && Set(deltas.map(\.segment)).count == 1)
    #expect(try inspector.segments().map(\.lastOwnDelta) == [own])
  }
}
