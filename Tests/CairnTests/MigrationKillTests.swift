import Cairn
import CairnDisk
import TestSupport
import Testing

/// The app is killed while datastores are moved, the next one completes or takes back the move, and
/// then the power fails: what the first one did was never durable.
@Suite struct MigrationKillTests {
  private static func prepared() async throws -> CatalogueBench {
    let bench = CatalogueBench()
    for id in ["m", "n"] { try await bench.local("l").with(id) { try $0.add("of-" + id) } }
    return bench
  }

  private static func settle(_ bench: CatalogueBench) throws -> (local: [String], moved: [String]) {
    let (local, account) = (bench.local("l"), bench.manager("a"))
    return (try local.ids(), try account.ids())
  }

  @Test func `a move is there once, whatever is killed and cut off`() async throws {
    var moved = 0
    for step in stride(from: 1, to: 1000, by: 4) {
      let bench = try await Self.prepared()
      bench.disk.powerOff(before: bench.disk.operations + step)
      do { try bench.local("l").migrate(to: bench.manager("a")) } catch {}
      guard bench.disk.isOff else { break }
      bench.disk.heal()
      let killed = bench.disk.snapshot()
      for cut in stride(from: 1, to: 100, by: 2) {
        let next = killed.snapshot()
        next.powerOff(before: cut)
        bench.use(next)
        do { _ = try Self.settle(bench) } catch {}
        for model in CrashModel.all(seeds: 0..<6) {
          bench.use(next.crash(keep: model))
          let (local, account) = try Self.settle(bench)
          let isWhole = (local, account) == (["m", "n"], []) || (local, account) == ([], ["m", "n"])
          if !account.isEmpty { moved += 1 }
          guard isWhole else {
            Issue.record(
              """
              killed before step \(step), cut off before step \(cut) of the next, \(model): \
              \(local) are local, \(account) are the account's
              """)
            return
          }
        }
        if !next.isOff { break }
      }
    }
    #expect(moved > 100)
  }
}
