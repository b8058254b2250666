import Foundation
import TestSupport
import Testing

/// `cairn watch` where the folder goes away, and comes back.
@Suite struct WatchTroubleTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func lines() throws -> [String] {
    try scratch.text("watched").split(separator: "\n").map(String.init)
  }

  /// Waits for a line that begins like this; for as long as a slow machine may need.
  private func wait(for start: String) async throws {
    for _ in 0..<6000 {
      if try lines().contains(where: { $0.hasPrefix(start) }) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("no line \(start): \(try lines()), \(try scratch.text("errors"))")
  }

  /// Something happens in the datastore's directory, wherever that is: who watches it looks.
  private func stir(_ folder: String) throws {
    let path = try scratch.write(folder + "/p-default/stir", "")
    try FileManager.default.removeItem(atPath: path)
  }

  @Test(arguments: [false, true])
  func `a problem is told, and that it is over`(isJSON: Bool) async throws {
    let (a, b, folder) = (scratch.path("a"), scratch.path("b"), scratch.path("folder"))
    try scratch.succeed(
      "set", "t", "a", "n=1", "--insert", "--folder", folder, "--user", "ann", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, "--user", "bea", root: b)
    let watch = try Tool.start(
      ["watch"] + (isJSON ? ["--json"] : []) + ["--root", a], output: scratch.path("watched"),
      errors: scratch.path("errors"))
    let problem = isJSON ? "{\"event\":\"problem\"" : "problem: "
    let recovered = isJSON ? "{\"event\":\"recovered\"}" : "it works again"
    try await wait(for: isJSON ? "{\"event\":\"watching\"" : "watching default")
    try FileManager.default.moveItem(atPath: folder, toPath: scratch.path("away"))
    try stir("away")
    try await wait(for: problem)
    try FileManager.default.moveItem(atPath: scratch.path("away"), toPath: folder)
    try stir("folder")
    try await wait(for: recovered)
    // It goes on as before.
    #expect(try Tool.run(["set", "t", "b", "n=2", "--insert", "--root", b]).status == 0)
    try scratch.succeed("sync", root: b)
    try await wait(for: isJSON ? "{\"table\":\"t\",\"id\":\"b\"," : "t  b  n=2")
    #expect(Tool.interrupt(watch) == 0)
    let told = try lines().filter { $0.hasPrefix(problem) || $0.hasPrefix(recovered) }
    #expect(told.first?.hasPrefix(problem) == true && told.last == recovered, "\(told)")
    #expect(told.count { $0 == recovered } == 1, "\(told)")
    guard isJSON, let first = told.first else { return }
    let event = try json(first)
    #expect((event["code"] as? String)?.isEmpty == false)
    #expect((event["message"] as? String)?.isEmpty == false)
  }
}
