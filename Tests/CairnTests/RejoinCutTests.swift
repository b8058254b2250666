import CairnDisk
import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// A device that has to take another name, and has seen what the others have agreed to leave out.
@Suite struct RejoinCutTests {
  private let bench = IdentityBench()

  /// Two of three devices, `a` and `c`, meet in a copy of the folder that the others don't see: `a`
  /// gets `mine` from `c`, and writes `of-a`. Returns the third one, and the name of `c`.
  private func meetApart() async throws -> (r: Datastore, retired: String) {
    let (a, c, r) = (try bench.open("a"), try bench.open("c"), try bench.open("r"))
    for (device, id) in [(a, "a"), (c, "c"), (r, "r")] { try device.add(id) }
    #expect(try await bench.settle([a, c, r]))
    let retired = c.device
    for device in [a, c] { try device.close() }
    bench.clone("a", as: "twin")
    bench.use(bench.folder.snapshot(), for: "folder apart")
    for name in ["a", "c"] { bench.view("apart", of: name) }
    let (apart, away) = (try bench.open("a"), try bench.open("c"))
    try away.add("mine")
    try await away.exchange()
    try await apart.pull()
    try apart.add("of-a")
    #expect(try apart.ids() == ["a", "c", "r", "mine", "of-a"])
    for device in [apart, away] { try device.close() }
    return (r, retired)
  }

  @Test func `what was left out of others since keeps no copy of a device from going on`()
    async throws
  {
    let (r, retired) = try await meetApart()
    // Another copy of `a` has gone on under its name, and agrees that `c` is left out.
    let twin = try bench.open("twin")
    try twin.add("of-twin")
    #expect(try await bench.settle([r, twin]))
    try r.retireDevice(retired)
    #expect(try await bench.settle([r, twin]))
    try #require(r.store.cuts.cuts.map(\.isSealed) == [true])
    // From here on they see the folder that all see.
    bench.clone("a", as: "late")
    bench.clone("c", as: "back")
    let late = try bench.open("late")
    try #require(late.device == twin.device)
    #expect(try await bench.settle([r, twin, late]), "it waits for nothing of `c`")
    #expect(late.device != twin.device)
    #expect(try late.ids() == ["a", "c", "r", "of-twin", "of-a"])
    // What `c` wrote comes from itself.
    let back = try bench.open("back")
    #expect(try await bench.settle([r, twin, late, back]))
    #expect(back.device != retired)
    #expect(try late.ids() == ["a", "c", "r", "of-twin", "of-a", "mine"])
    try bench.expectEqual([r, twin, late, back])
  }
}
