import Cairn
import Foundation
import TestSupport
import Testing

/// `cairn repair` and `cairn doctor` where a root is an app's, or no account's at all.
@Suite struct RepairWorldToolTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: scratch.path(name))
  }

  /// The command lines that doctor gives for a root.
  private func advice(_ root: String) throws -> [String] {
    let health = try scratch.cairn("doctor", root: root)
    #expect(health.status == 1)
    let start = "  -> cairn "
    return health.output.split(separator: "\n").filter { $0.hasPrefix(start) }.map {
      String($0.dropFirst(start.count))
    }
  }

  @Test func `an app's datastore comes back by the command that doctor gives`() async throws {
    let folder = scratch.path("folder")
    let accounts = try AccountManager(directory: scratch.path("app"))
    let account = try accounts.link(Account(user: "ann", folder: .directory(folder)))
    let manager = try DatastoreManager.manager(for: account)
    let datastore = try manager.openDefaultDatastore()
    for number in 0..<3 {
      try datastore.table("t").insert(["n": .int(Int64(number))], id: RecordID("r\(number)"))
    }
    try datastore.sync()
    try await datastore.exchange()
    try manager.shutDown()
    let file = try #require(
      try scratch.files(below: "app").first { $0.hasSuffix("/p-default/CURRENT") })
    let name = try #require(file.split(separator: "/").first)
    let root = scratch.path("app/\(name)")
    try remove("app/" + file)
    // The tool knows nothing of the account by itself.
    let alone = try scratch.cairn("repair", "default", root: root)
    #expect(alone.status == 1 && alone.errors.contains("--folder and --user"))
    #expect(!scratch.exists("app/" + file))
    let wanted = "repair default --root \(root) --folder \(folder) --user ann"
    for place in [scratch.path("app"), root] {
      let found = try advice(place)
      #expect(found.contains(wanted), "\(found)")
    }
    let done = try Tool.run(wanted.split(separator: " ").map(String.init))
    #expect(done.status == 0, "\(done)")
    #expect(done.output.contains("has 3 records"))
    let again = try DatastoreManager.manager(for: account).openDefaultDatastore()
    #expect(try again.table("t").count == 3)
    try again.close()
  }

  @Test func `who repairs is who syncs, also where nobody is remembered`() throws {
    let folder = scratch.path("folder")
    let environment = ProcessInfo.processInfo.environment.merging(["USER": "ann"]) { $1 }
    func run(_ arguments: String...) throws -> String {
      let place = ["--root", scratch.root, "--folder", folder]
      let outcome = try Tool.run(arguments + place, environment: environment)
      #expect(outcome.status == 0, "\(outcome)")
      return outcome.output
    }
    _ = try run("set", "t", "a", "n=1", "--insert")
    _ = try run("sync")
    try remove("root.settings")
    let file = try #require(try scratch.files(below: "folder").first { $0.hasSuffix(".seg") })
    try remove("folder/" + file)
    #expect(try run("repair", "default").contains("written to the folder: "))
    let devices = try json(try run("devices", "--json"))["devices"] as? [[String: Any]]
    #expect(devices?.map { $0["user"] as? String } == ["ann"])
  }

  @Test func `a folder on the command line publishes nothing of a local datastore`() throws {
    let folder = scratch.path("folder")
    try scratch.succeed("set", "t", "a", "n=1", "--insert")
    let before = try scratch.files(below: "root")
    let refused = try scratch.cairn("repair", "default", "--folder", folder)
    #expect(refused.status == 1 && refused.errors.contains("without --folder"))
    #expect(try scratch.files(below: "root") == before && !scratch.exists("folder"))
    let file = try #require(before.first { $0.hasSuffix("p-default/CURRENT") })
    try remove("root/" + file)
    let again = try scratch.cairn("repair", "default", "--folder", folder)
    #expect(again.status == 1 && again.errors.contains("without --folder"), "\(again)")
    #expect(!scratch.exists("folder"))
    #expect(try scratch.succeed("repair", "default").contains("has 1 record"))
    #expect(try scratch.succeed("get", "t", "a") == "n=1\n")
  }
}
