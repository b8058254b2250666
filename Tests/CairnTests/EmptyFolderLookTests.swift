import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A device that has published nothing has nothing in the folder that it would miss: now and then
/// it asks whether that is still the same one.
@Suite struct EmptyFolderLookTests {
  private let bench: FolderWorkbench
  private let script = ScriptedFolder.Script()

  init() throws { bench = try FolderWorkbench() }

  /// The rounds of so many, counted from 1, in which it was asked whose folder it is.
  private func looks(_ device: Datastore, rounds: Int) async throws -> [Int] {
    var looks: [Int] = []
    for round in 1...rounds {
      let before = script.reads.count
      try await device.exchange()
      if script.reads[before...].contains("cairn.json") { looks.append(round) }
    }
    return looks
  }

  @Test func `whose an empty folder is is asked ever more seldom`() async throws {
    let a = try bench.open("a", script)
    try await a.exchange()
    #expect(try await looks(a, rounds: 32) == [1, 2, 4, 8, 16, 24, 32])
  }

  @Test func `what comes there and goes is a reason to ask at once, and often again`() async throws
  {
    let a = try bench.open("a", script)
    try await a.exchange()
    #expect(try await looks(a, rounds: 5) == [1, 2, 4])
    try bench.makeDirectory(bench.shared)
    try bench.write(bench.shared + "/notes.txt", [1])
    #expect(try await looks(a, rounds: 3) == [1])
    try bench.remove(bench.shared + "/notes.txt")
    #expect(try await looks(a, rounds: 5) == [1, 2, 3, 5])
  }
}
