import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What a doctor says of files that are not in the folder, though nothing has lost them.
@Suite struct DoctorFolderTests {
  private let bench: DamageWorkbench

  init() throws { bench = try DamageWorkbench() }

  private var account: Account { Account(user: "ann", folder: .directory(bench.bench.folder)) }
  private var rootA: String { bench.bench.root("a") }

  private func examine(_ device: String, _ script: ScriptedFolder.Script) async -> DoctorReport {
    let folder = ScriptedFolder(base: DirectoryFolder(bench.bench.folder), script: script)
    let root = bench.bench.root(device)
    return await Doctor(root: root, account: account, folder: folder, machine: .real).examine()
  }

  /// Placeholders have a size of their own. A repair asks as much of a listing as an exchange does,
  /// and would find nothing to be done.
  @Test(arguments: [".seg", ".snap", ".blob"])
  func `files that a cloud drive keeps elsewhere are not lost`(suffix: String) async throws {
    bench.bench.options.tuning.smallFileBytes = 1
    _ = try await bench.exchangeTwo {
      try bench.fill($0, 60)
      try $0.addPhoto("photo", sample(1))
    } then: {
      try await $0.pull()
      try await $0.exchange()
    }
    let directory = suffix == ".blob" ? bench.bench.blobs : bench.bench.shared
    try #require(try !bench.bench.names(directory, suffix).isEmpty)
    let script = ScriptedFolder.Script()
    script.list { _, entries in
      entries.map { entry in
        guard entry.name.hasSuffix(suffix) else { return entry }
        var placeholder = entry
        placeholder.isPresent = false
        placeholder.size = 3
        return placeholder
      }
    }
    for device in ["a", "b"] {
      for name in try bench.bench.contents(device) {
        try bench.bench.remove(bench.bench.home(device) + "/" + name)
      }
      let report = await examine(device, script)
      #expect(report.isHealthy, "\(device): \(report.findings)")
      #expect(report.findings.allSatisfy { $0.command?.contains("repair") != true })
      #expect(!report.findings.contains { $0.check == "attachments" }, "\(report.findings)")
      let told = report.findings.filter { $0.message.contains("not here just now") }
      #expect(told.map(\.severity) == (suffix == ".blob" ? [] : [.note]), "\(report.findings)")
    }
    // That would wait for what may never come.
    #expect(!script.reads.contains { $0.hasSuffix(suffix) })
  }

  /// PUBLISHED is written before the head is.
  @Test func `a head that was never there is not lost`() async throws {
    let script = ScriptedFolder.Script()
    script.write { path, _ in path.hasSuffix(".head") ? .lost : .whole }
    let a = try bench.bench.open("a", script)
    try a.add("first")
    #expect(await a.exchangeError()?.code == .timeout)
    let head = bench.bench.shared + "/" + bench.bench.head(a)
    try a.close()
    let doctor = Doctor(root: rootA, account: account)
    let found = await doctor.examine().findings
    #expect(found.map(\.check) == ["identity"] && found.first?.severity == .note, "\(found)")
    #expect(found.first?.message.contains("was not published yet") == true)
    #expect(found.first?.command == "cairn sync --datastore notes --root \(rootA)")
    let again = try bench.linked("a").openDatastore("notes")
    try await again.exchange()
    try again.close()
    #expect(await doctor.examine().findings == [])
    try bench.bench.remove(head)
    let lost = await doctor.examine().findings
    let words = "lost this device's head"
    #expect(lost.contains { $0.severity == .warning && $0.message.contains(words) }, "\(lost)")
  }
}
