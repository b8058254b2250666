import CairnDisk
import CairnLog
import Foundation
import TestSupport
import Testing

@testable import Cairn
@testable import TestServers

/// What the exchange may rely on, whatever kind of folder it is.
@Suite struct FolderContractTests {
  @Test(arguments: Subject.all)
  func `a folder that nobody has used is empty`(_ subject: Subject) async throws {
    let place = try await subject.make()
    #expect(try await place.folder.list("") == [])
    #expect(try await place.folder.list("p-notes") == [])
    #expect(try await place.folder.read("cairn.json", limit: 100) == nil)
    #expect(try await place.folder.read("p-notes/a.head", limit: 100) == nil)
    #expect(try await place.folder.read("p-notes/a.head", from: 0) { _ in } == false)
    // What is not there is removed already.
    try await place.folder.remove("p-notes/a.head")
  }

  @Test(arguments: Subject.all)
  func `what was written is listed with its size and read back`(_ subject: Subject) async throws {
    let place = try await subject.make()
    let bytes = SeededRandom(1).bytes(70_000)
    let entry = try await place.folder.write("p-notes/a.seg", bytes)
    #expect(entry.name == "a.seg")
    #expect(entry.size == 70_000)
    let empty = try await place.folder.write("p-notes/empty.seg", [])
    #expect(empty.size == 0)
    _ = try await place.folder.write("cairn.json", [1, 2, 3])
    for folder in [place.folder, place.other] {
      #expect(try await folder.read("p-notes/a.seg", limit: 70_000) == bytes)
      #expect(try await folder.read("p-notes/empty.seg", limit: 10) == [])
      #expect(try await folder.list("").map(\.name) == ["cairn.json"])
      let entries = try await folder.list("p-notes")
      #expect(entries.map(\.name) == ["a.seg", "empty.seg"])
      #expect(entries.map(\.size) == [70_000, 0])
      #expect(entries.allSatisfy { $0.isPresent })
    }
  }

  @Test(arguments: Subject.all)
  func `a file above the limit is an error and not cut`(_ subject: Subject) async throws {
    let place = try await subject.make()
    _ = try await place.folder.write("d/a.seg", [UInt8](repeating: 7, count: 1001))
    await #expect(throws: CairnError.self) { try await place.folder.read("d/a.seg", limit: 1000) }
    #expect(try await place.folder.read("d/a.seg", limit: 1001)?.count == 1001)
  }

  @Test(arguments: Subject.all, [0, 10_000, 4 << 20, 9 << 20])
  func `files of any size come and go piece by piece`(
    _ subject: Subject, _ size: Int
  ) async throws {
    let place = try await subject.make()
    let bytes = Array(BytesSource.large.prefix(size))
    let entry = try await place.folder.write("d/a.blob", from: BytesSource(bytes: bytes))
    #expect(entry.size == UInt64(size))
    #expect(try await place.other.list("d").map(\.size) == [UInt64(size)])
    for start in [0, min(size, 4711), max(0, size - 1), size, size + 5] {
      var found: [UInt8] = []
      var isEveryPieceSome = true
      let isThere = try await place.other.read("d/a.blob", from: UInt64(start)) { piece in
        isEveryPieceSome = isEveryPieceSome && !piece.isEmpty
        found += piece
      }
      #expect(isThere && isEveryPieceSome)
      #expect(found == Array(bytes.dropFirst(start)))
    }
    #expect(try await place.other.read("d/b.blob", from: 0) { _ in } == false)
  }

  @Test(arguments: Subject.all)
  func `whoever reads a file may stop, and is told why`(_ subject: Subject) async throws {
    let place = try await subject.make()
    let bytes = BytesSource.large
    _ = try await place.folder.write("d/a.blob", from: BytesSource(bytes: bytes))
    var count = 0
    let error = await #expect(throws: CairnError.self) {
      try await place.other.read("d/a.blob", from: 0) { piece throws(CairnError) in
        count += piece.count
        if count > 1 << 20 { throw CairnError(.corrupt, "the disk is full") }
      }
    }
    #expect(error?.code == .corrupt)
    #expect(try await place.other.read("d/a.blob", limit: 9 << 20) == bytes)
  }

  @Test(arguments: Subject.all)
  func `of a file whose source fails nothing is left`(_ subject: Subject) async throws {
    let place = try await subject.make()
    let error = await #expect(throws: CairnError.self) {
      try await place.folder.write("d/a.blob", from: FailingSource(size: 9 << 20, good: 2 << 20))
    }
    #expect(error?.code == .corrupt)
    #expect(try await place.other.list("d") == [])
    // Nor of one whose name says what is in it.
    let name = "0000000000000001-" + String(repeating: "ab", count: 32) + ".blob"
    #expect(FileName.publishedBlob(name) != nil)
    _ = await #expect(throws: CairnError.self) {
      try await place.folder.write("d/" + name, from: FailingSource(size: 9 << 20, good: 8 << 20))
    }
    #expect(try await place.other.list("d") == [])
  }

  @Test(arguments: Subject.all)
  func `a file that is replaced has another version`(_ subject: Subject) async throws {
    let place = try await subject.make()
    _ = try await place.folder.write("d/a.head", [1, 2, 3])
    let first = try #require(try await place.other.list("d").first)
    _ = try await place.folder.write("d/a.head", [4, 5, 6])
    // The same length, in the same second: seen all the same, by this listing or a later one.
    let second = try #require(try await place.other.list("d").first)
    let bytes = try await place.other.read("d/a.head", limit: 10)
    #expect(bytes == [4, 5, 6])
    if second.version == first.version {
      // Some servers' clocks tell seconds only: then the version moves on until it can be trusted.
      try await Task.sleep(for: .seconds(1.1))
      let third = try #require(try await place.other.list("d").first)
      #expect(third.version != first.version)
    }
  }

  @Test(arguments: Subject.all)
  func `listings are sorted and have no directories`(_ subject: Subject) async throws {
    let place = try await subject.make()
    for name in ["b.seg", "a.seg", "a-b_c.seg", "0.head"] {
      _ = try await place.folder.write("d/" + name, [1])
    }
    _ = try await place.folder.write("d2/other.seg", [1])
    #expect(
      try await place.other.list("d").map(\.name) == ["0.head", "a-b_c.seg", "a.seg", "b.seg"])
    #expect(try await place.other.list("d2").map(\.name) == ["other.seg"])
    #expect(try await place.other.list("") == [])
  }

  /// What our files are called, and what engines and people make of that. Not what begins with a
  /// dot, which nginx does not list: nothing of ours does.
  private static let names = [
    "0123456789abcdef.head", "0123456789abcdef-1-2-0123456789abcdef0123456789abcdef.seg",
    "a b.seg", "a+b.seg", "a%20b.seg", "a&b;c=d.seg", "a#b?c.seg", "a (ann's copy).seg",
    "a,b!c$d@e.seg", "[a]{b}.seg", "~lock.x#", "Thumbs.db", "\u{E4}\u{65E5}.seg", "A.seg", "a..b",
  ]

  @Test(arguments: Subject.all)
  func `files of any name are listed, read and removed by it`(_ subject: Subject) async throws {
    let place = try await subject.make()
    let names = FolderContractTests.names.filter { Given.keeps($0, subject.name) }
    for (index, name) in names.enumerated() {
      let entry = try await place.folder.write("d/" + name, [UInt8](repeating: 1, count: index))
      #expect(entry.name == name && entry.size == UInt64(index))
    }
    let entries = try await place.other.list("d")
    #expect(entries.map(\.name) == names.sorted())
    for (index, name) in names.enumerated() {
      #expect(try await place.other.read("d/" + name, limit: 100)?.count == index, "\(name)")
      #expect(entries.first { $0.name == name }?.size == UInt64(index), "\(name)")
    }
    for name in names.dropFirst() { try await place.other.remove("d/" + name) }
    #expect(try await place.folder.list("d").map(\.name) == [names[0]])
  }

  @Test(arguments: Subject.all)
  func `more files than a page are all listed`(_ subject: Subject) async throws {
    let place = try await subject.make()
    let count = 1100
    // The first makes the directory, so that the others need not ask.
    _ = try await place.folder.write("d/f-0.seg", [0])
    let folder = place.folder
    try await withThrowingTaskGroup(of: Void.self) { group in
      for lane in 0..<4 {
        group.addTask {
          for number in stride(from: 1 + lane, to: count, by: 4) {
            _ = try await folder.write("d/f-\(number).seg", [1])
          }
        }
      }
      try await group.waitForAll()
    }
    let names = try await place.other.list("d").map(\.name)
    #expect(names == (0..<count).map { "f-\($0).seg" }.sorted())
  }

  @Test(arguments: Subject.all)
  func `what was removed is gone, and nothing else`(_ subject: Subject) async throws {
    let place = try await subject.make()
    for name in ["a.seg", "b.seg"] { _ = try await place.folder.write("d/" + name, [1]) }
    try await place.folder.remove("d/a.seg")
    try await place.folder.remove("d/a.seg")
    #expect(try await place.other.list("d").map(\.name) == ["b.seg"])
    #expect(try await place.other.read("d/a.seg", limit: 10) == nil)
  }

  @Test(arguments: Subject.all)
  func `a task that was cancelled asks nothing more`(_ subject: Subject) async throws {
    let place = try await subject.make()
    guard place.folder.traffic != nil else { return }
    let folder = place.folder
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      do throws(CairnError) {
        _ = try await folder.write("d/a.seg", [1])
        return CairnError.Code.internal
      } catch { return error.code }
    }
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(place.folder.traffic?.requests == 0)
    #expect(try await place.other.list("d") == [])
  }

  @Test func `servers were given`() {
    // Without Tools/servers only those in this process are tested.
    if Given.both.isEmpty { print("no server is given: see Tools/servers") }
    // And none is left out because it was told of in a way that nobody understands.
    let told = ["CAIRN_TEST_WEBDAV", "CAIRN_TEST_S3"].flatMap {
      (ProcessEnvironment.value($0) ?? "").split(separator: " ")
    }
    #expect(Given.both.count == told.count)
    #expect(Set(Given.both.map(\.name)).count == told.count)
  }
}
