import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Contents that the folder has only where the datastore was before it was deleted and restored.
@Suite struct AttachmentOldCopyTests {
  private let bench = CatalogueBench()

  /// A has attached a content and deleted the datastore, and B has restored it without the content.
  private func restore() async throws {
    bench.options.attachments = .onDemand
    let (_, b) = try await bench.deletePhoto(hasArrived: false)
    try b.restore(try #require(try b.trashedDatastores().first))
    bench.options.attachments = .always
  }

  @Test func `rounds fetch what is only in an older directory, before it goes from there`()
    async throws
  {
    try await restore()
    let b = try bench.manager("b").openDefaultDatastore()
    var fetched = 0
    for _ in 0..<3 { fetched += try await b.exchange().fetchedAttachments }
    #expect(fetched == 1)
    #expect(try b.content(of: "r") == sample(1))
    var published = 0
    for _ in 0..<24 { published += try await b.exchange().publishedAttachments }
    #expect(published == 1)
    bench.clock.advance(by: 31 * 86_400_000)
    let again = bench.manager("a")
    for _ in 0..<3 { try await again.refresh() }
    #expect(bench.files("/folder/b-p-default") == [])
    #expect(bench.disk.paths().count { $0.hasPrefix("/folder/b-") && $0.hasSuffix(".blob") } == 1)
    #expect(try b.content(of: "r") == sample(1))
    try b.close()
  }

  @Test func `an older directory that is not listed is a problem, and looked at again`()
    async throws
  {
    try await restore()
    let hook = HookedFolder.Switch()
    let b = try bench.manager("b", hook).openDefaultDatastore()
    hook.set { request, path throws(CairnError) in
      if request == .list, path == "b-p-default" { throw CairnError(.auth, "no", file: path) }
    }
    for _ in 0..<2 { #expect(try await b.exchange().fetchedAttachments == 0) }
    let report = try await b.exchange()
    #expect(report.problems.count { $0.name == "b-p-default" && $0.reason == "no" } == 1)
    #expect(report.missingAttachments == 1 && report.fetchedAttachments == 0)
    hook.set(nil)
    #expect(try await b.exchange().fetchedAttachments == 1)
    #expect(try b.content(of: "r") == sample(1))
    try b.close()
  }
}
