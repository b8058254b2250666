import Cairn
import CairnDisk
import CairnLog
import TestSupport
import Testing

/// What checks say of contents.
@Suite struct AttachmentCheckTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  private func doctor() async -> DoctorReport {
    await Doctor(
      root: bench.root("a"), account: Account(user: "ann", folder: .directory(bench.folder))
    ).examine()
  }

  private func verify() throws -> DatastoreInspector.VerifyReport {
    let inspector = try DatastoreInspector(root: bench.root("a"), id: bench.id)
    defer { inspector.close() }
    return try inspector.verify()
  }

  private func prepare(publishes: Bool = true) async throws {
    let a = try bench.open("a")
    try a.addPhoto("r", sample(1))
    try a.addPhoto("s", sample(2))
    if publishes { try await a.exchange() }
    try await bench.manager("a").refresh()
    try a.close()
  }

  @Test func `nothing is found where nothing is wrong`() async throws {
    try await prepare()
    #expect(await doctor().findings == [])
    let report = try verify()
    #expect(report.problems.isEmpty && report.bytes > 6000)
  }

  @Test func `a damaged content is found, and named`() async throws {
    try await prepare()
    let name = try #require(try bench.contents("a").first { $0.hasSuffix(".blob") })
    let path = bench.home("a") + "/" + name
    try bench.write(path, try bench.read(path).flipped(at: 7))
    let finding = try #require(await doctor().findings.first)
    #expect(finding.check == "attachments" && finding.severity == .error && finding.file == path)
    #expect(finding.command?.contains("blob") == true)
    let problem = try #require(try verify().problems.first)
    #expect(problem.isDamage && problem.file == path)
  }

  @Test func `a content that is nowhere is found`() async throws {
    try await prepare()
    for name in try bench.contents("a") { try bench.remove(bench.home("a") + "/" + name) }
    #expect(await doctor().findings == [], "the folder has them")
    try bench.remove(bench.blobs)
    let finding = try #require(await doctor().findings.first)
    #expect(finding.check == "attachments" && finding.severity == .note)
    #expect(finding.message.hasPrefix("2 attachments"))
    let a = try bench.open("a")
    try a.compact()
    try a.close()
    #expect(await doctor().findings.map(\.check) == ["attachments"])
  }
}
