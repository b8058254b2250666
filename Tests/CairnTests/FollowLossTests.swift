import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// Files of somebody's folder that are gone or wrong, and what a follower makes of them.
@Suite struct FollowLossTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
  }

  private var quarantine: String { bench.root("follower") + "/followed/quarantine" }

  @Test func `a loss that nobody has noted is made good in one pull`() async throws {
    bench.options.tuning.smallFileBytes = 1
    let a = try await bench.publisher("a")
    let behind = try await bench.follow()
    try await behind.pull()
    try behind.close()
    let known = try bench.segments(a)
    for n in 1...4 {
      try a.add("a\(n)")
      try await a.exchange()
    }
    try a.compact()
    #expect(try await a.exchange().publishedSnapshot)
    let lost = try #require(try bench.segments(a).filter { !known.contains($0) }.min())
    try bench.remove(bench.shared + "/" + lost)
    let again = try await bench.follow()
    let report = try await again.pull()
    #expect(report.fetchedSnapshot && report.complaints == [])
    #expect(try content(again.datastore) == content(a))
    #expect(try await again.pull().requests == 2, "it is over")
  }

  @Test func `nothing of a table that is not chosen gets into the quarantine`() async throws {
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    let secret = "nobody else's business"
    for device in [a, b] {
      try device.add("s", to: "secrets", ["text": .string(secret)])
      try device.add("p", to: "plain", ["text": "everybody's"])
      try await device.exchange()
      #expect(try bench.read(bench.shared + "/" + bench.segment(device)).contains(secret))
    }
    let name = try bench.segment(a)
    let good = try bench.read(bench.shared + "/" + name)
    // The last byte is of its checksum.
    try bench.write(bench.shared + "/" + name, good.flipped(at: good.count - 1))
    try bench.move(
      bench.shared + "/" + bench.segment(b), to: bench.shared + "/strange.seg")
    let choice = FollowPolicy(tables: .except(["secrets"]))
    let follower = try await bench.follow("follower", choice)
    let report = try await follower.pull()
    #expect(Set(report.problems.map(\.name)) == [name, "strange.seg"])
    #expect(try bench.names(quarantine, ".bad") == [])
    let reasons = try bench.names(quarantine, ".reason").map {
      String(decoding: try bench.read(quarantine + "/" + $0), as: UTF8.self)
    }
    #expect(reasons.count == 2)
    for bad in [name, "strange.seg"] { #expect(reasons.contains { $0.hasPrefix(bad + "\n") }) }
    try follower.close()
    for path in try bench.tree(bench.root("follower")).keys {
      guard try PosixDisk().info(path)?.kind == .file else { continue }
      #expect(try !bench.read(path).contains(secret), "\(path)")
    }
    let found = await Doctor(root: bench.root("follower")).examine()
    #expect(found.findings.count { $0.message.contains("Nothing of it is kept here") } == 2)
    #expect(!found.findings.contains { $0.check == "account" }, "\(found.findings)")
  }

  @Test func `a damaged file of the list is put aside, and read ever more seldom`() async throws {
    let a = try await bench.publisher("a")
    _ = try await a.manager.refresh()
    let directory = bench.folder + "/" + FileName.catalogue
    let name = try #require(try bench.names(directory, ".cat").first)
    let reads = Told<String>()
    let hook = HookedFolder.Switch()
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(name) { reads.add(path) }
    }
    let follower = try await bench.follow("follower", FollowPolicy(), hook)
    try await follower.pull()
    let good = try bench.read(directory + "/" + name)
    let bad = good.flipped(at: good.count / 2)
    try bench.write(directory + "/" + name, bad)
    let before = reads.all.count
    for _ in 0..<8 {
      #expect(try await follower.pull().problems.map(\.name) == [name])
    }
    #expect(reads.all.count - before == 4, "of eight")
    let kept = try bench.names(quarantine, ".bad")
    #expect(try kept.map { try bench.read(quarantine + "/" + $0) } == [bad])
    try bench.write(directory + "/" + name, good)
    #expect(try await follower.pull().problems == [])
    // A right one, under the name of another installation.
    let other = FileName.catalogue(installation: 7)
    try bench.write(directory + "/" + other, good)
    let report = try await follower.pull()
    #expect(report.problems.map(\.name) == [other])
    #expect(report.problems.first?.reason.contains("under another name") == true)
    try a.close()
  }

  @Test func `a head that is gone for good is asked about once`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let follower = try await bench.follow()
    try await follower.pull()
    let path = bench.shared + "/" + bench.head(b)
    let head = try bench.read(path)
    try bench.remove(path)
    #expect(try await follower.pull().requests > 2)
    #expect(try await follower.pull().requests == 2)
    #expect(try follower.datastore.ids() == ["a", "b"], "what has come stays")
    try bench.write(path, head)
    try await follower.pull()
    for device in [a, b] {
      try device.add("more-of-\(device === a ? "a" : "b")")
      try await device.exchange()
    }
    try await follower.pull()
    #expect(try follower.datastore.ids().count == 4)
  }

  @Test func `a problem that is over is not in the report`() async throws {
    let (a, b) = (try await bench.publisher("a"), try await bench.publisher("b"))
    let name = try bench.segment(a)
    let script = ScriptedFolder.Script()
    let isFirst = Shared(true)
    script.read { path, bytes in
      guard path.hasSuffix(name), isFirst.exchange(false) else { return bytes }
      return bytes.map { $0.flipped(at: $0.count / 2) }
    }
    let path = bench.folder
    let follower = try await DatastoreFollower.subscribe(
      to: "notes", in: .directory(path), root: bench.root("follower"), policy: FollowPolicy(),
      options: bench.options,
      opener: { ScriptedFolder(base: DirectoryFolder(path), script: script) }, machine: .real)
    let report = try await follower.pull()
    #expect(script.reads.count { $0.hasSuffix(name) } == 2)
    #expect(report.problems == [] && report.waiting == [])
    #expect(try follower.datastore.ids() == ["a", "b"])
    try b.close()
  }

  @Test(.timeLimit(.minutes(20)))
  func `a disk that spoils what is fetched does not keep a pull going`() async throws {
    let a = try await bench.publisher("a")
    let isBad = Shared(true)
    let disk = spoilingDisk(isBad: isBad)
    let (path, reads) = (bench.folder, Told<String>())
    let hook = HookedFolder.Switch()
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(".seg") { reads.add(path) }
    }
    let follower = try await DatastoreFollower.subscribe(
      to: "notes", in: .directory(path), root: bench.root("follower"), policy: FollowPolicy(),
      options: bench.options, opener: { HookedFolder(base: DirectoryFolder(path), hook: hook) },
      machine: Machine(disk: disk, clock: Machine.real.clock, random: Machine.real.random))
    let report = try await follower.pull()
    #expect(report.problems.map(\.name) == [FileName.inbox])
    #expect(reads.all.count == DatastoreFollower.vainRounds)
    #expect(try follower.datastore.ids() == [])
    isBad.withLock { $0 = false }
    #expect(try await follower.pull().problems == [])
    #expect(try content(follower.datastore) == content(a))
  }

  @Test(.timeLimit(.minutes(20)))
  func `a disk that spoils what a rebuild fetches is told, and ends the pull`() async throws {
    let a = try await bench.publisher("a")
    let first = try await bench.follow("follower", FollowPolicy(tables: .only(["t"])))
    try await first.pull()
    try first.close()
    let isBad = Shared(true)
    let (path, reads) = (bench.folder, Told<String>())
    let hook = HookedFolder.Switch()
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(".seg") { reads.add(path) }
    }
    let second = try await DatastoreFollower.subscribe(
      to: "notes", in: .directory(path), root: bench.root("follower"), policy: FollowPolicy(),
      options: bench.options, opener: { HookedFolder(base: DirectoryFolder(path), hook: hook) },
      machine: Machine(
        disk: spoilingDisk(isBad: isBad), clock: Machine.real.clock, random: Machine.real.random))
    let report = try await second.pull()
    #expect(report.isRejoining)
    #expect(report.problems.contains { $0.name == FileName.inbox })
    #expect(reads.all.count == DatastoreFollower.vainRounds)
    isBad.withLock { $0 = false }
    #expect(try await second.pull().problems == [])
    #expect(try content(second.datastore) == content(a))
  }
}

/// A disk on which what gets into an inbox is damaged.
private func spoilingDisk(isBad: Shared<Bool>) -> RenamingDisk {
  RenamingDisk { base, from, to throws(DiskError) in
    try base.rename(from, to: to)
    guard isBad.withLock({ $0 }), to.contains("/inbox/") else { return }
    let file = try base.open(to, .readWrite)
    defer { file.close() }
    let place = try file.size() / 2
    let bytes = try file.read(at: place, count: 1).map { ~$0 }
    try file.write(bytes.span, at: place)
  }
}
