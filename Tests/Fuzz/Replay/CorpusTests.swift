import CairnDisk
import CairnFuzzEntries
import TestSupport
import Testing

/// What fuzzing has collected, and every input that once was a finding, through the same entries.
@Suite struct CorpusTests {
  @Test(arguments: FuzzTarget.allCases)
  func `no input of the corpus is a finding`(_ target: FuzzTarget) async throws {
    let directory = ProjectFile.path("Tests/Fuzz/Corpus/\(target.rawValue)")
    let entries = try PosixDisk().list(directory).filter { $0.info.kind == .file }
    #expect(!entries.isEmpty)
    for entry in entries {
      let bytes = try ProjectFile.bytes("Tests/Fuzz/Corpus/\(target.rawValue)/\(entry.name)")
      do { try await target.run(bytes) } catch {
        Issue.record("\(target.rawValue)/\(entry.name): \(error)")
      }
    }
  }

  @Test(arguments: FuzzTarget.allCases)
  func `no input at all and few bytes are no finding`(_ target: FuzzTarget) async throws {
    try await target.run([])
    for byte in UInt8.min...UInt8.max { try await target.run([byte]) }
    for count in [2, 8, 64, 600] {
      try await target.run([UInt8](repeating: 0, count: count))
      try await target.run([UInt8](repeating: 0xFF, count: count))
    }
  }
}
