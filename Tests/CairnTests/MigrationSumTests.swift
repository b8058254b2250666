import TestSupport
import Testing

@testable import Cairn

/// What becomes of numbers that two copies have in a field whose rule is `sum`.
@Suite struct MigrationSumTests {
  private let bench = CatalogueBench()

  @Test func `a sum beyond all doubles is none, and what loses is listed`() async throws {
    let a = bench.manager("a")
    try await a.with("n") {
      try $0.table("t").setRule(.sum, field: "n")
      try $0.table("t").insert(["n": 1.5e308], id: "r")
      try $0.table("t").insert(["n": 1e308], id: "s")
    }
    let local = bench.local("l")
    try await local.with("n") {
      try $0.table("t").insert(["n": 1e308], id: "r")
      try $0.table("t").insert(["n": -1.5e308], id: "s")
    }
    let moved = try #require(try local.migrate(to: a).datastores.first)
    #expect(moved.conflicts.map(\.record) == ["r"])
    #expect(moved.conflicts.map(\.lost) == [1e308])
    #expect(moved.conflicts.map(\.kept) == [1.5e308])
    let table = try a.openDatastore("n").table("t")
    #expect(try table["r"].double("n") == 1.5e308)
    #expect(try table["s"].double("n") == 1e308 - 1.5e308)
  }
}
