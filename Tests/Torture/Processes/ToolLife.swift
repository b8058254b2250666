import Cairn
import CairnDisk
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A root that only the command line tool works on, until it is killed.
final class ToolLife {
  private let tool: String
  private let root: String
  private let random: SeededRandom
  private var place: StorePlace
  private static let rows = 800
  /// Which version each row may have, and which the single record.
  private var rowVersion = 0
  private var setVersion = 0

  init(tool: String, root: String, random: SeededRandom) {
    (self.tool, self.root, self.random) = (tool, root, random)
    place = StorePlace(root: root + "/device")
    place.folder = root + "/folder"
  }

  func run(_ turns: Turns, _ ledger: inout Ledger) throws {
    let link = ["--root", place.root, "--folder", root + "/folder", "--user", "a"]
    try Command.run(tool, ["set", "t", "x", "v=0", "--insert"] + link, scratch: root)
    try writeRows(0)
    try Command.run(tool, importing(0), scratch: root)
    for _ in 0..<20 {
      guard turns.take() != nil else { return }
      // One that was done, or had not begun, is no kill.
      while try !step(&ledger) {}
    }
  }

  /// What it is killed in.
  static let verbs = ["import", "set", "compact", "sync"]

  /// Whether the kill met the tool at work.
  private func step(_ ledger: inout Ledger) throws -> Bool {
    let before = ledger["kills"]
    switch random.below(4) {
    case 0: try importRows(&ledger)
    case 1: try set(&ledger)
    case 2: _ = try killed(["compact", "--root", place.root], &ledger)
    default: _ = try killed(["sync", "--root", place.root], &ledger)
    }
    try check()
    return ledger["kills"] > before
  }

  private func csv(_ version: Int) -> String { root + "/rows\(version).csv" }

  private func importing(_ version: Int) -> [String] {
    ["import", "rows", csv(version), "--key", "id", "--root", place.root]
  }

  private func writeRows(_ version: Int) throws {
    var text = "id,v,text\n"
    for row in 0..<ToolLife.rows { text += "r\(row),\(version),\"row \(row) of \(version)\"\n" }
    try TextFile.write(csv(version), text)
  }

  /// Runs the tool and kills it at a random moment. Whether it was done before.
  private func killed(_ arguments: [String], _ ledger: inout Ledger) throws -> Bool {
    let child = try Child(tool, arguments, output: root + "/said")
    // Most of its time goes to beginning and ending. A few are killed wherever they are.
    if random.below(8) == 0 {
      usleep(UInt32(random.below(40_000)))
    } else {
      try child.wait(until: "its work") { Processes.hasOpen(child.pid, below: place.root) }
      usleep(UInt32(random.below(arguments[0] == "import" ? 12_000 : 3_000)))
    }
    // Stopped first, it can be looked at.
    let isAtWork = child.stop() && Processes.hasOpen(child.pid, below: place.root)
    let ending = try child.kill()
    switch ending {
    case .exited(0):
      ledger.count("tool runs that were done before their kill, which do not count")
      return true
    case .signalled(SIGKILL) where isAtWork:
      ledger.count("kills")
      ledger.took("tool killed in \(arguments[0])")
      return false
    case .signalled(SIGKILL):
      ledger.count("kills of the tool beside its work, which do not count")
      return false
    default:
      throw TortureFailure(
        "\(arguments.joined(separator: " ")): \(ending): \(child.errors)")
    }
  }

  private func importRows(_ ledger: inout Ledger) throws {
    let version = rowVersion + 1
    try writeRows(version)
    let isDone = try killed(importing(version), &ledger)
    let found = try rows()
    // 800 rows are one commit: all of them or none.
    guard found == version || (!isDone && found == rowVersion) else {
      throw TortureFailure("rows have version \(found) after an import of \(version)")
    }
    rowVersion = found
  }

  private func set(_ ledger: inout Ledger) throws {
    let version = setVersion + 1
    let isDone = try killed(
      ["set", "t", "x", "v=\(version)", "--root", place.root], &ledger)
    let found = try single()
    guard found == version || (!isDone && found == setVersion) else {
      throw TortureFailure("the record has \(found) after it was set to \(version)")
    }
    setVersion = found
  }

  private func check() throws {
    var finding = Finding()
    try Checker(place: place, contents: []).verify(&finding)
    guard try rows() == rowVersion, try single() == setVersion else {
      throw TortureFailure("the tool changed what it was not asked to in \(root)")
    }
  }

  private func withDatastore<R>(_ body: (Datastore) throws -> R) throws -> R {
    let datastore = try place.open()
    do {
      let result = try body(datastore)
      try datastore.close()
      return result
    } catch {
      // The first error says more.
      try? datastore.close()
      throw error
    }
  }

  private func single() throws -> Int {
    try withDatastore { Int(try $0.table("t")["x"].int("v") ?? -1) }
  }

  private func rows() throws -> Int {
    try withDatastore { datastore in
      let table = try datastore.table("rows")
      guard try table.count == ToolLife.rows else {
        throw TortureFailure("\(try table.count) rows, not \(ToolLife.rows)")
      }
      let version = try table["r0"].int("v") ?? -1
      for row in 0..<ToolLife.rows {
        let found = try table[RecordID("r\(row)")].fields
        guard found == ["v": .int(version), "text": .string("row \(row) of \(version)")] else {
          throw TortureFailure("row \(row) is \(found), row 0 has version \(version)")
        }
      }
      return Int(version)
    }
  }
}
