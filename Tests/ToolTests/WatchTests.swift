import Foundation
import TestSupport
import Testing

@Suite struct WatchTests {
  let scratch: Scratch
  let (here, there): (String, String)

  init() throws {
    scratch = try Scratch()
    (here, there) = (scratch.path("here"), scratch.path("there"))
    let folder = scratch.path("folder")
    try scratch.succeed("set", "t", "a", "n=1", "--insert", "--folder", folder, root: here)
    try scratch.succeed("sync", root: here)
    try scratch.succeed("sync", "--folder", folder, root: there)
  }

  /// A `watch` that runs, and what it has printed so far.
  private final class Watch {
    let process = Process()
    private let output: String

    init(_ scratch: Scratch, _ arguments: [String]) throws {
      output = try scratch.write("watched", "")
      process.executableURL = URL(filePath: Tool.directory + "cairn")
      process.arguments = ["watch"] + arguments
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
      try process.run()
    }

    func lines() throws -> [String] {
      let text = String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self)
      return text.split(separator: "\n").map(String.init)
    }

    func wait(for line: String) async throws {
      while try !lines().contains(line) {
        try #require(process.isRunning)
        try await Task.sleep(for: .milliseconds(5))
      }
    }

    func interrupt() -> Int32 {
      process.interrupt()
      process.waitUntilExit()
      return process.terminationStatus
    }

    deinit { if process.isRunning { process.terminate() } }
  }

  private func change(_ arguments: String...) throws {
    let outcome = try Tool.run(arguments + ["--root", there])
    #expect(outcome.status == 0, "\(outcome)")
    try scratch.succeed("sync", root: there)
  }

  @Test func `what another device does is printed until it is interrupted`() async throws {
    let watch = try Watch(scratch, ["--root", here])
    try await watch.wait(for: "watching default; Ctrl-C ends it")
    try change("set", "t", "b", "n=2", "text=two", "--insert")
    try await watch.wait(for: "t  b  n=2 text=\"two\"")
    #expect(try scratch.cairn("get", "t", "a", root: here).status == 5)
    try change("delete", "t", "a")
    try await watch.wait(for: "t  a  deleted")
    #expect(watch.interrupt() == 0)
    #expect(
      try watch.lines() == [
        "watching default; Ctrl-C ends it", "t  b  n=2 text=\"two\"", "t  a  deleted",
      ])
    #expect(try scratch.succeed("get", "t", "b", root: here) == "n=2\ntext=\"two\"\n")
  }

  @Test func `with JSON each line is a document, of the tables that are wanted`() async throws {
    try scratch.succeed("set", "t", "a", "n=3", root: here)
    try await Task.sleep(for: .milliseconds(5))
    try scratch.succeed("set", "t", "a", "n=4", root: there)
    let watch = try Watch(scratch, ["--json", "--table", "t", "--root", here])
    try await watch.wait(for: "{\"event\":\"watching\",\"datastore\":\"default\"}")
    try change("set", "other", "x", "n=1", "--insert")
    try change("set", "t", "b", "n=2", "--insert")
    let wanted = "{\"table\":\"t\",\"id\":\"b\",\"event\":\"changed\",\"fields\":{\"n\":2}}"
    try await watch.wait(for: wanted)
    #expect(watch.interrupt() == 0)
    let events = try watch.lines().map { try json($0) }
    #expect(events.allSatisfy { $0["table"] == nil || $0["table"] as? String == "t" })
    let conflict = try #require(events.first { $0["event"] as? String == "conflict" })
    #expect(conflict["field"] as? String == "n" && conflict["chosen"] as? Int == 3)
  }

  @Test func `a folder elsewhere is remembered when it has proved to be the same`() async throws {
    let moved = scratch.path("moved")
    try FileManager.default.moveItem(atPath: scratch.path("folder"), toPath: moved)
    try scratch.succeed("sync", "--folder", moved, root: there)
    let settings = try scratch.text("here.settings")
    let watch = try Watch(scratch, ["--folder", moved, "--root", here])
    try await watch.wait(for: "watching default; Ctrl-C ends it")
    // What the second one brings is another round, and the first is over then.
    for id in ["b", "c"] {
      try change("set", "t", id, "n=2", "--insert")
      try await watch.wait(for: "t  \(id)  n=2")
    }
    #expect(watch.interrupt() == 0)
    let expected = settings.replacing(scratch.path("folder"), with: moved)
    #expect(try scratch.text("here.settings") == expected)
  }

  @Test func `a datastore that was never exchanged proves nothing of another folder`()
    async throws
  {
    let (other, third) = (scratch.path("other"), scratch.path("third"))
    let new = ["--datastore", "new"]
    func publish(_ id: String) throws {
      let set = ["set", "t", id, "n=2", "--insert", "--folder", other]
      for command in [set, ["sync"]] {
        let outcome = try Tool.run(command + new + ["--root", third])
        #expect(outcome.status == 0, "\(outcome)")
      }
    }
    try publish("a")
    let settings = try scratch.text("here.settings")
    let watch = try Watch(scratch, new + ["--folder", other, "--root", here])
    try await watch.wait(for: "watching new; Ctrl-C ends it")
    // What the second one brings is another round, and the first is over then.
    for id in ["b", "c"] {
      try publish(id)
      try await watch.wait(for: "t  \(id)  n=2")
    }
    #expect(watch.interrupt() == 0)
    #expect(try scratch.text("here.settings") == settings)
    #expect(try scratch.cairn("sync", root: here).status == 0)
  }

  @Test func `without a folder there is nothing to watch`() throws {
    let alone = scratch.path("alone")
    try scratch.succeed("set", "t", "a", "n=1", "--insert", root: alone)
    let outcome = try scratch.cairn("watch", root: alone)
    #expect(outcome.status == 2 && outcome.errors.contains("--folder"))
  }
}
