import Cairn
import Foundation
import TestSupport
import Testing

@Suite struct OpenElsewhereTests {
  @Test(
    arguments: [
      ["tables"], ["query", "t"], ["get", "t", "a"], ["set", "t", "a", "n=5"],
      ["delete", "t", "a"], ["export", "t"], ["log"], ["segments"], ["stat"], ["status"],
      ["verify"], ["compact"], ["list", "t", "a", "l"], ["rules"], ["rules", "default", "max"],
      ["compact", "--dry-run"],
    ])
  func `a datastore that is open elsewhere ends with 5 and the process`(
    arguments: [String]
  ) throws {
    let scratch = try Scratch()
    let datastore = try DatastoreManager(root: scratch.root).openDefaultDatastore()
    try datastore.table("t").insert(["n": 1], id: "a")
    try datastore.sync()
    let outcome = try Tool.run(arguments + ["--root", scratch.root])
    #expect(outcome.status == 5, "\(outcome)")
    #expect(outcome.errors.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
    try datastore.close()
    #expect(try scratch.succeed("get", "t", "a") == "n=1\n")
  }
}
