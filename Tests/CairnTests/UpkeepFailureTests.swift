import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What a round does besides publishing, merging small files and giving the folder back what it has
/// lost, must not keep others from what is new, whatever goes wrong with it.
@Suite struct UpkeepFailureTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.graceSeconds = 0
  }

  /// Requests of a kind fail from now on, for paths that are chosen.
  private func refuse(
    _ kind: HookedFolder.Request, _ code: CairnError.Code,
    where isRefused: @escaping @Sendable (String) -> Bool
  ) {
    hook.set { request, path throws(CairnError) in
      guard request == kind, isRefused(path) else { return }
      throw CairnError(code, "no", file: path)
    }
  }

  /// So many commits, each heard by another device in the next round; the errors in between.
  private func commit(
    _ count: Int, _ prefix: String, _ a: Datastore, heardBy b: Datastore
  ) async throws -> [CairnError.Code] {
    var errors: [CairnError.Code] = []
    let before = try a.ids().count
    for number in 1...count {
      try a.add("\(prefix)-\(number)")
      if let error = await a.exchangeError() { errors.append(error.code) }
      try await b.pull()
      #expect(try b.ids().count == before + number, "round \(number)")
    }
    return errors
  }

  @Test(arguments: [CairnError.Code.fileIO, .readOnly, .memory, .timeout])
  func `an own file that can't be read back is gone around`(code: CairnError.Code) async throws {
    let (a, b) = (try bench.open("a", hook), try bench.open("b"))
    for number in 1..<Tuning().smallFileRun {
      try a.add("early-\(number)")
      try await a.exchange()
    }
    let bad = try #require(try bench.segments(a).first)
    refuse(.read, code) { $0.hasSuffix(bad) }
    let errors = try await commit(40, "late", a, heardBy: b)
    if code == .timeout {
      #expect(Set(errors) == [.timeout] && errors.count < 20, "\(errors)")
    } else {
      #expect(errors == [])
    }
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(own.publishedDeltas == 47 && own.files < 28, "\(own.files) files")
    #expect(try bench.segments(a).count < 36)
    // Once it is given again it is merged like the others.
    hook.set(nil)
    #expect(try await commit(70, "later", a, heardBy: b) == [])
    #expect(try !bench.segments(a).contains(bad))
    let late = try bench.open("late")
    #expect(try await late.pull().complaints == [])
    #expect(try content(late) == content(a))
  }

  @Test(arguments: [CairnError.Code.diskSpace, .fileIO, .sizeLimit, .network])
  func `a merged file that the folder does not take keeps nobody from what is new`(
    code: CairnError.Code
  ) async throws {
    let (a, b) = (try bench.open("a", hook), try bench.open("b"))
    refuse(.write, code) { path in
      let name = path.split(separator: "/").last.map(String.init) ?? ""
      return FileName.published(name).map { $0.first < $0.last } ?? false
    }
    let errors = try await commit(30, "late", a, heardBy: b)
    let expected: Set<CairnError.Code> = code == .network ? [.network] : []
    #expect(Set(errors) == expected && errors.count < 20, "\(errors)")
    hook.set(nil)
    #expect(try await commit(40, "later", a, heardBy: b) == [])
    let own = try #require(try await a.devices().first { $0.isThisDevice })
    #expect(own.publishedDeltas == 70 && own.files < 20, "\(own.files) files")
  }

  @Test(arguments: [CairnError.Code.quota, .network])
  func `a lost snapshot for which there is no room keeps nobody from what is new`(
    code: CairnError.Code
  ) async throws {
    // Due whenever there is one.
    bench.options.tuning.smallFileBytes = 0
    let (a, b) = (try bench.open("a", hook), try bench.open("b"))
    try a.add("a")
    try await a.exchange()
    try await b.pull()
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let names = try bench.names(bench.shared, ".snap")
    let name = try #require(names.first)
    try bench.remove(bench.shared + "/" + name)
    refuse(.write, code) { $0.hasSuffix(".snap") }
    let errors = try await commit(12, "late", a, heardBy: b)
    #expect(Set(errors) == [code] && errors.count < 8, "\(errors)")
    hook.set(nil)
    for _ in 0..<6 { _ = try await a.exchange() }
    #expect(try bench.names(bench.shared, ".snap") == names)
  }

  @Test func `whoever has the folder looked into is told that it can't be mended`() async throws {
    let a = try bench.open("a", hook)
    try a.add("a")
    try await a.exchange()
    try bench.remove(bench.shared + "/" + bench.segment(a))
    refuse(.write, .quota) { $0.hasSuffix(".seg") }
    for _ in 0..<4 {
      let error = await #expect(throws: CairnError.self) { try await a.repairFolder() }
      #expect(error?.code == .quota)
    }
    hook.set(nil)
    #expect(try await a.repairFolder().written.count == 1)
    #expect(try await a.repairFolder().wasWhole)
  }

  // MARK: files that are not what they should be

  @Test func `own files that were taken for one another are not merged`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for number in 1..<Tuning().smallFileRun {
      try a.add("a\(number)")
      try await a.exchange()
    }
    let files = try bench.segments(a).map { bench.shared + "/" + $0 }
    let bytes = try files.map { try bench.read($0) }
    var pair: (Int, Int)?
    for first in files.indices {
      for second in files.indices where second > first && pair == nil {
        if bytes[first].count == bytes[second].count { pair = (first, second) }
      }
    }
    let (first, second) = try #require(pair, "no two have the same length")
    try bench.write(files[first], bytes[second])
    try bench.write(files[second], bytes[first])
    var problems: Set<String> = []
    for number in 1...2 {
      try a.add("b\(number)")
      let report = try await a.exchange()
      #expect(report.mergedFiles == 0)
      problems.formUnion(report.problems.map(\.name))
    }
    #expect(!problems.isEmpty)
    #expect(problems.allSatisfy { name in [first, second].contains { files[$0].hasSuffix(name) } })
    let repair = try await a.repairFolder()
    #expect(repair.damaged.count == 2)
    for _ in 0..<2 { try await b.pull() }
    #expect(try content(b) == content(a) && b.ids().count == 9)
    // What was left alone is merged then.
    var merged = 0
    for number in 1...8 {
      try a.add("c\(number)")
      merged += try await a.exchange().mergedFiles
    }
    #expect(merged > 0)
    #expect(try await b.pull().complaints == [])
    #expect(try content(b) == content(a))
  }
}
