import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// Another directory takes the place of the folder while the app runs: a drive is taken out,
/// another is put in, or somebody moves directories.
@Suite struct FolderSwapTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  private var away: String { bench.place.path + "/away" }

  /// A folder of somebody else, with a datastore of the same id.
  private func otherFolder() async throws -> String {
    let other = bench.place.path + "/other"
    let stranger = try bench.open("stranger", folder: other)
    try stranger.add("stranger")
    try await stranger.exchange()
    try stranger.close()
    return other
  }

  @Test(arguments: [false, true])
  func `a device that has published nothing yet does not go on in another folder`(
    hasSynced: Bool
  ) async throws {
    let other = try await otherFolder()
    try await bench.publisher("a").close()
    let b = try bench.open("b")
    #expect(await b.exchangeError() == nil)
    #expect(try bench.names(bench.shared, ".head").count == 1)
    if hasSynced { try b.sync() }
    try bench.move(bench.folder, to: away)
    try bench.move(other, to: bench.folder)
    let files = try bench.names(bench.shared)
    for _ in 0..<3 {
      let error = await b.exchangeError()
      #expect(error?.code == .disallowed && error?.file == "cairn.json")
    }
    try b.sync()
    #expect(try b.ids() == ["a"])
    #expect(try bench.names(bench.shared) == files)
    try bench.move(bench.folder, to: other)
    try bench.move(away, to: bench.folder)
    #expect(await b.exchangeError() == nil)
    #expect(try bench.names(bench.shared, ".head").count == 2)
  }

  @Test func `nor does it make an emptied folder its own`() async throws {
    try await bench.publisher("a").close()
    let b = try bench.open("b")
    try await b.pull()
    try bench.move(bench.folder, to: away)
    try bench.makeDirectory(bench.folder)
    for _ in 0..<6 { #expect(await b.exchangeError()?.code == .notFound) }
    #expect(try bench.names(bench.folder) == [])
    try bench.remove(bench.folder)
    try bench.move(away, to: bench.folder)
    #expect(await b.exchangeError() == nil)
  }

  /// Two devices had made it at the same moment, and one of the two files has won since.
  @Test func `the same folder with another identity is gone on with`() async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b")
    try await b.pull()
    try bench.write(bench.folder + "/cairn.json", FolderIdentity.encode(7))
    try a.add("later")
    try await a.exchange()
    try await b.pull()
    #expect(try b.ids() == ["a", "later"])
  }

  @Test func `a device that has met nobody goes where the folder is now`() async throws {
    let other = try await otherFolder()
    let b = try bench.open("b")
    #expect(await b.exchangeError() == nil)
    try bench.move(bench.folder, to: away)
    try bench.move(other, to: bench.folder)
    try await b.pull()
    #expect(try b.ids() == ["stranger"])
  }

  @Test(arguments: [false, true])
  func `a folder that goes in the middle of a round is not made anew`(
    isReplaced: Bool
  ) async throws {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    try a.add("a")
    try await a.exchange()
    try a.add("later")
    let (path, away) = (bench.folder, away)
    hook.set { request, file throws(CairnError) in
      guard request == .write, file.hasSuffix(".seg") else { return }
      do throws(DiskError) {
        guard try PosixDisk().info(away) == nil else { return }
        try PosixDisk().rename(path, to: away)
        if isReplaced { try PosixDisk().createDirectory(path) }
      } catch { throw CairnError(error) }
    }
    #expect(await a.exchangeError()?.code == (isReplaced ? .retryLater : .notFound))
    #expect(try (PosixDisk().info(path) != nil) == isReplaced)
    #expect(try bench.names(path) == [])
    hook.set(nil)
    if isReplaced { try bench.remove(path) }
    try bench.move(away, to: path)
    #expect(await a.exchangeError() == nil)
    let b = try bench.open("b")
    try await b.pull()
    #expect(try b.ids() == ["a", "later"])
  }

  @Test func `a folder makes its directories, and itself if it was not there`() async throws {
    let folder = DirectoryFolder(bench.folder)
    #expect(try await folder.list("d") == [])
    _ = try await folder.write("d/a", [1])
    #expect(try await folder.list("d").count == 1)
    _ = try await folder.write("e/a", [1])
    try bench.remove(bench.folder)
    let error = await #expect(throws: CairnError.self) { try await folder.write("d/a", [1]) }
    #expect(error?.code == .notFound && error?.file == bench.folder)
    // A look that has found nothing is no reason to keep it from being made.
    #expect(try await folder.list("d") == [])
    _ = try await folder.write("d/a", [1])
    #expect(try await folder.list("d").map(\.name) == ["a"])
  }
}
