import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// One file that the folder lists and does not give keeps neither good copies nor other contents.
@Suite struct AttachmentBadCopyTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  @Test func `a copy that can't be read keeps nobody from a good one`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    try a.addPhoto("a", sample(1))
    try await a.exchange()
    try b.addPhoto("b", sample(1))
    try await b.exchange()
    let names = try bench.blobs().sorted()
    try #require(names.count == 2)
    // Whichever is tried first.
    for (device, name) in zip(["c", "d"], names) {
      let hook = HookedFolder.Switch()
      hook.set { request, path throws(CairnError) in
        if request == .read, path.hasSuffix(name) { throw CairnError(.fileIO, "no", file: path) }
      }
      let reader = try bench.open(device, hook)
      let report = try await reader.pullAll()
      #expect(report.fetchedAttachments == 1 && report.problems.isEmpty, "\(report)")
      #expect(try reader.content(of: "a") == sample(1))
    }
  }

  @Test(arguments: [true, false])
  func `a content that is not given does not use up every round`(isThere: Bool) async throws {
    let a = try bench.open("a")
    try a.addPhoto("small", sample(1, 1000))
    try a.addPhoto("large", sample(2, 1500))
    try await a.exchange()
    bench.options.tuning.blobRoundBytes = 2100
    let (hook, script) = (HookedFolder.Switch(), ScriptedFolder.Script())
    let b = try isThere ? bench.open("b", hook) : bench.open("b", script)
    try await b.pull()
    let name = SHA256.hash(sample(1, 1000)).hex + ".blob"
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(name) { throw CairnError(.fileIO, "no", file: path) }
    }
    script.hide(name)
    var fetched: [Int] = []
    for _ in 0..<3 { fetched.append(try await b.exchange().fetchedAttachments) }
    #expect(fetched == [0, 0, 1])
    #expect(try b.content(of: "large") == sample(2, 1500))
    hook.set(nil)
    script.read(nil)
    #expect(try await b.exchange().fetchedAttachments == 1)
    #expect(try b.content(of: "small") == sample(1, 1000))
  }
}
