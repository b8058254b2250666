import TestSupport
import Testing

@testable import Cairn

/// PUBLISHED is written before the head is: what it says may never have arrived.
@Suite struct UnconfirmedHeadTests {
  @Test func `what only a head has that did not arrive is not published, nor after a restart`()
    async throws
  {
    let bench = try FolderWorkbench()
    let script = ScriptedFolder.Script()
    var a = try bench.open("a", script)
    try a.add("first")
    try await a.exchange()
    #expect(a.publishedDeltas == 1)
    try a.add("second")
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    #expect(await a.exchangeError()?.code == .timeout)
    #expect(a.publishedDeltas == 1 && a.committedDeltas == 2)
    try a.close()
    a = try bench.open("a")
    #expect(a.publishedDeltas < 2 && a.committedDeltas == 2, "nobody has seen it there")
    try await a.exchange()
    #expect(a.publishedDeltas == 2)
  }
}
