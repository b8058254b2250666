import CairnBytes
import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A folder that refuses every second content is looked at again, lest it be the folder itself;
/// only refusals in a row count. One that takes nothing may still give.
@Suite struct AttachmentRefusalTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// From now on the folder refuses these files. Returns the listings of its contents.
  private func refuse(_ names: [String], _ hook: HookedFolder.Switch) -> Told<String> {
    let lists = Told<String>()
    hook.set { request, path throws(CairnError) in
      if request == .list, path.hasPrefix("b-") { lists.add(path) }
      for name in names where request == .read && path.hasSuffix(name) {
        throw CairnError(.auth, "no", file: path)
      }
    }
    return lists
  }

  @Test func `a thorough look that is given a content between two refusals lists nothing again`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    for number in 1...3 { try a.addPhoto("r\(number)", sample(UInt64(number))) }
    try await a.exchange()
    // In the order in which they are looked at.
    let files = try bench.blobs().sorted()
    try #require(files.count == 3)
    func listings(_ refused: [Int]) async throws -> Int {
      let lists = refuse(refused.map { files[$0] }, hook)
      let repair = try await a.repairFolder()
      #expect(repair.problems.count == refused.count && repair.wasWhole, "\(repair)")
      return lists.all.count
    }
    _ = try await listings([0])
    let one = try await listings([0])
    #expect(try await listings([0, 2]) == one)
    #expect(try await listings([0, 1]) == one + 1)
  }

  @Test func `a round to which a content comes between two refusals lists nothing again`()
    async throws
  {
    let a = try bench.open("a")
    // The smallest one comes first.
    let contents = (1...3).map { sample(UInt64($0), 100 * $0) }
    for (number, bytes) in contents.enumerated() { try a.addPhoto("r\(number)", bytes) }
    try await a.exchange()
    func listings(_ device: String, _ refused: [Int]) async throws -> Int {
      let hook = HookedFolder.Switch()
      let lists = refuse(refused.map { SHA256.hash(contents[$0]).hex + ".blob" }, hook)
      let report = try await bench.open(device, hook).pullAll()
      #expect(report.fetchedAttachments == 3 - refused.count, "\(report)")
      #expect(report.problems.count == refused.count, "\(report)")
      return lists.all.count
    }
    let one = try await listings("b", [0])
    #expect(try await listings("c", [0, 2]) == one)
    #expect(try await listings("d", [0, 1]) == one + 1)
  }

  // MARK: writes

  @Test(arguments: [CairnError.Code.readOnly, .quota, .auth])
  func `a folder that takes nothing gives contents all the same, and is asked for them once`(
    code: CairnError.Code
  ) async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let hook = HookedFolder.Switch()
    let b = try bench.open("b", hook)
    try await b.pull()
    #expect(try b.content(of: "r") == nil)
    let lists = Told<String>()
    hook.set { request, path throws(CairnError) in
      if request == .list, path.hasPrefix("b-") { lists.add(path) }
      if request == .write { throw CairnError(code, "no", file: path) }
    }
    for _ in 0..<3 { #expect(await b.exchangeError()?.code == code) }
    #expect(try b.content(of: "r") == sample(1))
    #expect(lists.all == ["b-p-notes"])
    #expect(b.status.uploadError?.code == code && b.status.downloadError == nil)
  }

  @Test func `what a folder did not take is written once it does, whatever was fetched meanwhile`()
    async throws
  {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    let hook = HookedFolder.Switch()
    let b = try bench.open("b", hook)
    try await b.pullAll()
    #expect(try b.content(of: "r") == sample(1))
    // The record has it: no delta comes that names it.
    _ = try b.attach(sample(1))
    try b.add("own")
    hook.fail([.write], .readOnly)
    for _ in 0..<2 { #expect(await b.exchangeError()?.code == .readOnly) }
    #expect(try bench.blobs(of: b) == [])
    hook.set(nil)
    #expect(try await b.exchange().publishedAttachments == 1)
    #expect(try bench.blobs(of: b) == ["\(b.device)-\(SHA256.hash(sample(1)).hex).blob"])
  }

  @Test(arguments: [CairnError.Code.auth, .readOnly, .retryLater, .server])
  func `a content that a folder does not take again keeps no others from it, and none from coming`(
    code: CairnError.Code
  ) async throws {
    let a = try bench.open("a")
    for number in 1...2 { try a.addPhoto("r\(number)", sample(UInt64(number))) }
    try await a.exchange()
    let hook = HookedFolder.Switch()
    let b = try bench.open("b", hook)
    try await b.pullAll()
    // The records have them: no delta comes that names them.
    for number in 1...2 { _ = try b.attach(sample(UInt64(number))) }
    let refused = try #require([1, 2].map { SHA256.hash(sample($0)) }.min()).hex + ".blob"
    hook.set { request, path throws(CairnError) in
      if request == .write, path.hasSuffix(refused) { throw CairnError(code, "no", file: path) }
    }
    try a.addPhoto("r3", sample(3))
    try await a.exchange()
    let reports = [try await b.pull(), try await b.pull()]
    #expect(reports.map(\.publishedAttachments) == [1, 0])
    #expect(reports.map(\.fetchedAttachments) == [0, 1])
    #expect(reports.map { $0.problems.map(\.reason) } == [["no"], ["no"]])
    #expect(try b.content(of: "r3") == sample(3))
    hook.set(nil)
    #expect(try await b.exchange().publishedAttachments == 1)
    #expect(try bench.blobs(of: b).count == 2)
  }

  // MARK: new contents

  /// From now on the folder does not take this content. Returns the tries.
  private func refuse(
    _ bytes: [UInt8], _ code: CairnError.Code, _ hook: HookedFolder.Switch
  ) -> Told<String> {
    let tries = Told<String>()
    let name = SHA256.hash(bytes).hex + ".blob"
    hook.set { request, path throws(CairnError) in
      guard request == .write, path.hasSuffix(name) else { return }
      tries.add(path)
      throw CairnError(code, "no", file: path)
    }
    return tries
  }

  @Test func `a content that is too large for the server keeps no deltas back, and follows`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    let tries = refuse(sample(1), .sizeLimit, hook)
    let id = try a.addPhoto("r1", sample(1)).id
    try a.addPhoto("r2", sample(2))
    let first = try await a.exchange()
    #expect(first.publishedDeltas == 2 && first.publishedAttachments == 1)
    #expect(first.problems.map(\.name) == [id.description])
    #expect(tries.all.count == 1)
    for _ in 2...17 {
      let report = try await a.exchange()
      #expect(report.problems.map(\.reason) == ["no"], "as long as it stays so")
    }
    #expect(tries.all.count == 5, "in rounds 1, 2, 4, 8 and 16")
    let b = try bench.open("b")
    try await b.pullAll()
    #expect(try b.ids() == ["r1", "r2"])
    #expect(try b.content(of: "r1") == nil && b.content(of: "r2") == sample(2))

    hook.set(nil)
    var published = 0
    for _ in 0..<16 { published += try await a.exchange().publishedAttachments }
    #expect(published == 1)
    #expect(try bench.blobs(of: a).count == 2)
    #expect(try await a.exchange().problems == [])
  }

  @Test func `a content that is too large for the server goes with the last record that has it`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    _ = refuse(sample(1), .sizeLimit, hook)
    try a.addPhoto("r", sample(1))
    try await a.exchange()
    try a.table("t").record("r")?.delete()
    try a.sync()
    try await a.exchange()
    #expect(try await a.collectAttachments(graceSeconds: 0).removedHere == 1)
    #expect(try await a.exchange().problems == [])
    #expect(try bench.contents("a").filter { $0.hasSuffix(".own") } == [])
  }

  @Test func `a thorough look tries at once what is too large, and tells that it is not there`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    let tries = refuse(sample(1), .sizeLimit, hook)
    try a.addPhoto("r", sample(1))
    for _ in 1...2 { try await a.exchange() }
    let repair = try await a.repairFolder()
    #expect(tries.all.count == 3)
    #expect(repair.problems.map { $0.hasSuffix(" can't be written again: no") } == [true])
    hook.set(nil)
    #expect(try await a.repairFolder().exchange.publishedAttachments == 1)
  }

  @Test func `a thorough look that is the first to try what is too large tells of it, too`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    let tries = refuse(sample(1), .sizeLimit, hook)
    let id = try a.addPhoto("r", sample(1)).id
    let repair = try await a.repairFolder()
    #expect(!repair.isWhole && repair.exchange.publishedDeltas == 1)
    #expect(repair.problems == ["attachment \(id.description) can't be written again: no"])
    #expect(tries.all.count == 1)
  }

  @Test(arguments: [CairnError.Code.auth, .server, .response, .request])
  func `a new content that the folder does not take keeps deltas for a while only`(
    code: CairnError.Code
  ) async throws {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    let tries = refuse(sample(1), code, hook)
    let id = try a.addPhoto("r", sample(1)).id
    try a.add("behind")
    for _ in 1..<Exchange.patience { #expect(await a.exchangeError()?.code == code) }
    #expect(try bench.segments(a) == [])
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 2 && report.publishedAttachments == 0)
    #expect(report.problems.map(\.name) == [id.description])
    #expect(tries.all.count == Exchange.patience)
    hook.set(nil)
    #expect(try await a.exchange().publishedAttachments == 1)
    #expect(try bench.blobs().count == 1)
  }

  /// Twelve records with a new content each, and the writes of files of these kinds, from now on,
  /// all of which fail.
  private func twelve(
    _ refused: [String], _ hook: HookedFolder.Switch
  ) throws -> (a: Datastore, tries: Told<String>) {
    let a = try bench.open("a", hook)
    for number in 1...12 { try a.addPhoto("r\(number)", sample(UInt64(number))) }
    let tries = Told<String>()
    hook.set { request, path throws(CairnError) in
      guard request == .write, refused.contains(where: { path.hasSuffix($0) }) else { return }
      tries.add(path)
      throw CairnError(.auth, "no", file: path)
    }
    return (a, tries)
  }

  @Test func `a folder that takes nothing is asked for four new contents and for the deltas`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let (a, tries) = try twelve([".blob", ".seg"], hook)
    var (contents, deltas): ([Int], [Int]) = ([], [])
    for _ in 1...6 {
      let before = tries.all.count
      #expect(await a.exchangeError()?.code == .auth)
      let new = tries.all.dropFirst(before)
      contents.append(new.count { $0.hasSuffix(".blob") })
      deltas.append(new.count { $0.hasSuffix(".seg") })
    }
    #expect(contents == [1, 1, 4, 4, 4, 4])
    #expect(deltas == [0, 0, 1, 1, 1, 1])
    hook.set(nil)
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 12)
    var published = report.publishedAttachments
    for _ in 0..<16 { published += try await a.exchange().publishedAttachments }
    #expect(published == 12)
    #expect(try bench.blobs().count == 12)
  }

  @Test func `a folder that takes deltas and no contents is asked for four of them in a round`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let (a, tries) = try twelve([".blob"], hook)
    for _ in 1..<Exchange.patience { #expect(await a.exchangeError()?.code == .auth) }
    #expect(tries.all.count == 2)
    #expect(try await a.exchange().publishedDeltas == 12)
    for _ in 1...3 {
      let before = tries.all.count
      try await a.exchange()
      #expect(tries.all.count - before == 4)
    }
    hook.set(nil)
    var published = 0
    for _ in 0..<32 { published += try await a.exchange().publishedAttachments }
    #expect(published == 12)
  }

  @Test func `with one content that the folder does not take the others go before their deltas`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    for number in 1...12 { try a.addPhoto("r\(number)", sample(UInt64(number))) }
    let bad = SHA256.hash(sample(1)).hex + ".blob"
    let written = Told<String>()
    hook.set { request, path throws(CairnError) in
      guard request == .write else { return }
      written.add(path)
      if path.hasSuffix(bad) { throw CairnError(.auth, "no", file: path) }
    }
    for _ in 1..<Exchange.patience { #expect(await a.exchangeError()?.code == .auth) }
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 12 && report.problems.map(\.reason) == ["no"])
    let paths = written.all
    let deltas = try #require(paths.firstIndex { $0.hasSuffix(".seg") })
    #expect(paths[..<deltas].count { $0.hasSuffix(".blob") && !$0.hasSuffix(bad) } == 11)
    #expect(paths.count { $0.hasSuffix(bad) } == Exchange.patience)
    #expect(try bench.blobs().count == 11)
  }

  @Test func `a folder that then does not answer either keeps deltas for as long as that is so`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    try a.addPhoto("r", sample(1))
    let isRefused = Shared(false)
    hook.set { request, path throws(CairnError) in
      let isContent = request == .write && path.hasSuffix(".blob")
      if isContent { _ = isRefused.exchange(true) }
      let isOut = request == .list && path.hasPrefix("b-") && isRefused.withLock { $0 }
      if isContent || isOut { throw CairnError(.server, "no", file: path) }
    }
    for _ in 0..<(Exchange.patience + 2) {
      _ = isRefused.exchange(false)
      #expect(await a.exchangeError()?.code == .server)
    }
    #expect(try bench.segments(a) == [])
    hook.set(nil)
    let report = try await a.exchange()
    #expect(report.publishedDeltas == 1 && report.publishedAttachments == 1)
  }

  @Test func `a thorough look tells which lost content the folder does not take again`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    for number in 1...2 { try a.addPhoto("r\(number)", sample(UInt64(number))) }
    try await a.exchange()
    let files = try bench.blobs().sorted()
    try #require(files.count == 2)
    try bench.remove(bench.blobs)
    hook.set { request, path throws(CairnError) in
      if request == .write, path.hasSuffix(files[0]) { throw CairnError(.auth, "no", file: path) }
    }
    let repair = try await a.repairFolder()
    #expect(repair.exchange.publishedAttachments == 1 && !repair.isWhole)
    #expect(repair.problems.map { $0.hasSuffix(" can't be written again: no") } == [true])
    #expect(try bench.blobs() == [files[1]])
    hook.set(nil)
    #expect(try await a.repairFolder().isWhole)
    #expect(try bench.blobs().sorted() == files)
  }

  @Test func `an unused content that the folder does not remove keeps no others there`()
    async throws
  {
    bench.options.trashDays = 0
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    for number in 1...2 { try a.addPhoto("r\(number)", sample(UInt64(number))) }
    try await a.exchange()
    for number in 1...2 { try a.table("t").record(RecordID("r\(number)"))?.delete() }
    try a.sync()
    try await a.exchange()
    let files = try bench.blobs().sorted()
    try #require(files.count == 2)
    hook.set { request, path throws(CairnError) in
      if request == .remove, path.hasSuffix(files[0]) { throw CairnError(.auth, "no", file: path) }
    }
    let error = await #expect(throws: CairnError.self) {
      _ = try await a.collectAttachments(graceSeconds: 0)
    }
    #expect(error?.code == .auth)
    #expect(try bench.blobs() == [files[0]])
    #expect(try bench.contents("a").filter { $0.hasSuffix(".blob") } == [])
    hook.set(nil)
    #expect(try await a.collectAttachments(graceSeconds: 0).removedInFolder == 1)
    #expect(try bench.blobs() == [])
  }
}
