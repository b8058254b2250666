import Foundation
import TestSupport
import Testing

/// `cairn watch` where others delete very much at once.
@Suite struct WatchHeldTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func lines(_ name: String) throws -> [String] {
    try scratch.text(name).split(separator: "\n").map(String.init)
  }

  /// Waits for a line that begins like this; for as long as a slow machine may need.
  private func wait(for start: String, in name: String) async throws {
    for _ in 0..<6000 {
      if try lines(name).contains(where: { $0.hasPrefix(start) }) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("no line \(start): \(try lines(name)), \(try lines("errors"))")
  }

  @Test func `a mass delete that is held is told, once`() async throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    let rows = (0..<80).map { "\($0),x\n" }.joined()
    let file = try scratch.write("in.csv", "k,name\n" + rows)
    try scratch.succeed(
      "import", "t", file, "--key", "k", "--folder", folder, "--user", "ann", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, "--user", "bea", root: b)
    let c = scratch.path("c")
    try scratch.succeed("sync", "--folder", folder, "--user", "cid", root: c)
    try scratch.succeed("set", "third", "z", "n=1", "--insert", root: c)
    let watch = try Tool.start(
      ["watch", "--json", "--root", b], output: scratch.path("watched"),
      errors: scratch.path("errors"))
    try await wait(for: "{\"event\":\"watching\"", in: "watched")
    let ids = (0..<80).map { "\($0)" }
    #expect(try Tool.run(["delete", "t"] + ids + ["--root", a]).status == 0)
    try scratch.succeed("sync", root: a)
    try await wait(for: "{\"records\":80,", in: "watched")
    try scratch.succeed("set", "other", "x", "n=1", "--insert", root: a)
    try scratch.succeed("sync", root: a)
    // What comes from a third one, which has not heard of it, shows that all was looked at.
    #expect(try scratch.cairn("sync", root: c).status == 1, "it is held there, too")
    for _ in 0..<6000 where try !lines("watched").contains(where: { $0.contains("third") }) {
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(try lines("watched").contains { $0.contains("third") })
    #expect(Tool.interrupt(watch) == 0)
    let held = try lines("watched").map { try json($0) }.filter { $0["event"] as? String == "held" }
    #expect(held.count == 1)
    #expect((held.first?["message"] as? String)?.contains("--allow-mass-delete") == true)
    #expect(try scratch.succeed("tables", root: b).contains("t      80 records\n"))
  }
}
