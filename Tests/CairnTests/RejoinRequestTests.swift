import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A report says how often the folder was called, also in a round that puts a store together anew.
@Suite struct RejoinRequestTests {
  @Test func `the files of the other copy are counted when they are read for what is common`()
    async throws
  {
    let (bench, script, calls) = (IdentityBench(), ScriptedFolder.Script(), Shared(0))
    let a = try bench.open("a")
    try a.add("a0")
    try await a.exchange()
    bench.clone("a", as: "b")
    for id in ["a1", "a2"] {
      try a.add(id)
      try await a.exchange()
    }
    try a.close()
    script.list { _, entries in
      calls.withLock { $0 += 1 }
      return entries
    }
    script.read { _, bytes in
      calls.withLock { $0 += 1 }
      return bytes
    }
    script.write { _, _ in
      calls.withLock { $0 += 1 }
      return .whole
    }
    bench.scripts["b"] = script
    let b = try bench.open("b")
    try b.add("b1")
    let report = try await b.exchange()
    #expect(report.isRejoining)
    #expect(report.requests == calls.withLock { $0 })
    let segments = script.reads.filter { $0.hasSuffix(".seg") }
    #expect(segments.count > Set(segments).count, "some are read for that once more")
    #expect(try await bench.settle([b]))
    #expect(try b.ids() == ["a0", "a1", "a2", "b1"])
  }
}
