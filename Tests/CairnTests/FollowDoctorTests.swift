import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What is said of a root in which somebody's datastore is followed.
@Suite struct FollowDoctorTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
    bench.options.compactsAutomatically = false
  }

  private var root: String { bench.root("follower") }

  private func examine(_ id: String? = nil) async -> DoctorReport {
    let account = Account(user: "", folder: .directory(bench.folder))
    return await Doctor(root: root, account: account).examine(id)
  }

  private func follow() async throws -> Datastore {
    let a = try bench.open("a")
    try a.setTitle("Programme")
    for n in 0..<40 { try a.add("r\(n)") }
    try a.addPhoto("p", sample(1))
    try await a.exchange()
    let follower = try await bench.follow()
    try await follower.pull()
    try follower.datastore.compact()
    try a.add("later")
    try await a.exchange()
    try await follower.pull()
    try follower.close()
    return a
  }

  @Test func `nothing is found on a healthy copy, open or closed`() async throws {
    _ = try await follow()
    let closed = await examine()
    #expect(closed.findings == [] && closed.datastores == ["notes"] && closed.isHealthy)
    let before = try bench.tree(bench.place.path)
    #expect(await examine("notes").findings == [])
    #expect(try bench.tree(bench.place.path) == before, "it changes nothing")
    #expect(await examine("others").findings.first?.message.contains("no datastore") == true)
    let follower = try await bench.follow()
    let open = await examine()
    #expect(open.isHealthy && open.findings.map(\.check) == ["lock"])
    try follower.close()
  }

  @Test func `neither an account nor room in the folder is missed`() async throws {
    _ = try await follow()
    let alone = await Doctor(root: root).examine().findings
    #expect(!alone.contains { $0.check == "account" }, "\(alone)")
    var disk = ProbedDisk()
    disk.isFull = { [folder = bench.folder] in $0 == folder }
    var machine = Machine.real
    machine.disk = disk
    let doctor = Doctor(
      root: root, account: Account(user: "", folder: .directory(bench.folder)),
      folder: DirectoryFolder(bench.folder), machine: machine)
    #expect(await doctor.examine().findings == [])
  }

  @Test func `damage of a copy is found, and said how it is brought anew`() async throws {
    _ = try await follow()
    for part in ["snap", "log", "blobs"] {
      let directory = root + "/followed/" + part
      let name = try #require(
        try bench.names(directory).filter { !$0.hasPrefix("UNUSED") }.sorted().first)
      let good = try bench.read(directory + "/" + name)
      try bench.write(directory + "/" + name, good.flipped(at: part == "log" ? 20 : 200))
      let found = await examine()
      let finding = try #require(found.findings.first { $0.severity == .error }, "\(part)")
      #expect(!found.isHealthy && finding.datastore == "notes")
      #expect(finding.file?.contains("/followed/") == true)
      if part != "blobs" {
        let again = "cairn follow \(bench.folder) --datastore notes --root \(root)"
        #expect(finding.command == "cairn unfollow --root \(root) && \(again)")
        #expect(finding.message.contains("subscribe again"))
      }
      try bench.write(directory + "/" + name, good)
    }
    #expect(await examine().isHealthy)
  }

  @Test func `a note that is damaged, and a copy without one, are found`() async throws {
    _ = try await follow()
    let note = root + "/FOLLOWING"
    let good = try bench.read(note)
    try bench.write(note, good.flipped(at: 20))
    let damaged = await examine()
    #expect(damaged.findings.map(\.check) == ["following"] && !damaged.isHealthy)
    #expect(damaged.findings.first?.command == "cairn unfollow --root \(root)")
    let again = "and then follow it anew: cairn follow \(bench.folder) --root \(root), with "
    #expect(damaged.findings.first?.message.contains(again) == true, "\(damaged.findings)")
    try bench.remove(note)
    let leftover = await examine()
    #expect(leftover.findings.map(\.check) == ["following"] && leftover.isHealthy)
    #expect(leftover.findings.first?.file == root + "/followed")
  }

  @Test func `another folder is found`() async throws {
    _ = try await follow()
    try bench.move(bench.folder, to: bench.folder + ".gone")
    let stranger = try bench.open("stranger")
    try stranger.add("stranger")
    try await stranger.exchange()
    let found = await examine()
    #expect(found.findings.contains { $0.check == "folder" && $0.message.contains("notes") })
  }

  @Test func `a list has what is followed, without opening it`() async throws {
    let a = try await follow()
    let info = try #require(try DatastoreFollower.info(root: root))
    #expect(info.id == "notes" && info.title == "Programme" && info.isOnDevice)
    #expect(info.recordCount == a.recordCount && info.role == .viewer && !info.isWritable)
    let follower = try await bench.follow()
    #expect(try DatastoreFollower.info(root: root)?.id == "notes", "nor does it need the lock")
    let listed = try follower.datastore.manager.listDatastores()
    #expect(listed == [info])
    try follower.unsubscribe()
    #expect(try DatastoreFollower.info(root: root) == nil)
  }
}
