import Cairn
import Foundation
import TestSupport
import Testing

/// What only shows what would be done leaves the files as they are.
@Suite struct DryRunTests {
  let scratch: Scratch
  private let folder: String

  init() throws {
    scratch = try Scratch()
    folder = scratch.path("folder")
  }

  /// A datastore that has exchanged, with more in its log than is left there when it is closed.
  private func make() async throws {
    var options = Options()
    options.compactsAutomatically = false
    let manager = try DatastoreManager(
      root: scratch.root, account: Account(user: "ann", folder: .directory(folder)),
      options: options)
    let datastore = try manager.openOrCreateDatastore("default")
    let table = try datastore.table("t")
    let random = SeededRandom(1)
    for number in 0..<40 {
      try table.insert(["text": .string(random.text(8000))], id: RecordID("r\(number)"))
      if number % 10 == 9 { try datastore.sync() }
    }
    try await datastore.exchange()
    try datastore.close()
    try manager.shutDown()
  }

  /// The files of the snapshot and of the log, with what is in them.
  private func files() throws -> [String: [UInt8]] {
    var result: [String: [UInt8]] = [:]
    for name in try scratch.files(below: "root/p-default")
    where name.hasPrefix("snap/") || name.hasPrefix("log/") {
      result[name] = try scratch.bytes("root/p-default/" + name)
    }
    return result
  }

  @Test(arguments: [
    ["compact", "--forget", "--dry-run"], ["repair", "default", "--dry-run"],
  ])
  func `a dry run folds no log`(command: [String]) async throws {
    try await make()
    let before = try files()
    #expect(before.values.reduce(0) { $0 + $1.count } > 256 << 10)
    let outcome = try Tool.run(
      command + ["--root", scratch.root, "--folder", folder, "--user", "ann"])
    #expect(outcome.status == 0, "\(outcome)")
    // Not in the expectation, which would print all of it.
    let isSame = try files() == before
    #expect(isSame)
  }
}
