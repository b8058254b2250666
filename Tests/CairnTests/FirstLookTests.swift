import TestSupport
import Testing

@testable import Cairn

/// What waits from an earlier opening, and the first exchange of the next one.
@Suite struct FirstLookTests {
  /// Taking over what the others have deletes as much, and asks nobody.
  @Test func `what has to be allowed first does not come in with the others' state`()
    async throws
  {
    let bench = try FolderWorkbench()
    bench.options.compactsAutomatically = false
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    var away = try await bench.publisher("c")
    let ids = (0..<60).map { RecordID("r\($0)") }
    for id in ids { try a.table("t").insert(["n": 1], id: id) }
    try a.sync()
    try await bench.meet(a, b, away)
    let old = away.device
    try away.add("mine")
    try away.close()
    for id in ids { try a.table("t").record(id)?.delete() }
    try a.sync()
    try await a.exchange()
    try await b.exchange()
    try b.sync(allowingMassDelete: true)
    try a.retireDevice(old)
    try await bench.meet(a, b)
    #expect(try b.ids() == ["a", "b", "c"])
    // It fetches, and ends before it syncs.
    away = try bench.open("c")
    try await away.exchange()
    try away.close()
    away = try bench.open("c")
    #expect(try await !away.exchange().isRejoining)
    #expect(try away.sync().massDelete?.records == 60)
    #expect(try away.ids().count == 64 && away.device == old)
    try away.sync(allowingMassDelete: true)
    try await bench.meet(away, a, b)
    #expect(away.device != old)
    for device in [away, a, b] { #expect(try device.ids() == ["a", "b", "c", "mine"]) }
  }
}
