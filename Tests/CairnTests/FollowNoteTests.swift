import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What a follower has noted of a folder, and takes back.
@Suite struct FollowNoteTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// Otherwise each later process would have to find a head that it knows to trust the folder.
  @Test func `another identity of the same folder is noted`() async throws {
    let a = try await bench.publisher("a")
    let first = try await bench.follow()
    try await first.pull()
    try first.close()
    try bench.write(bench.folder + "/" + FileName.folderIdentity, FolderIdentity.encode(77))
    let root = bench.root("follower")
    #expect(try FollowFile.read(root, .real)?.folder != 77)
    let again = try DatastoreFollower(
      root: root, folder: .directory(bench.folder), options: bench.options)
    #expect(try await again.pull().complaints == [])
    #expect(try again.datastore.ids() == ["a"])
    try again.close()
    #expect(try FollowFile.read(root, .real)?.folder == 77)
    try a.close()
  }

  /// As a sync engine may do it that takes files away and brings them back.
  @Test func `a head that comes back as it was is read again`() async throws {
    let a = try await bench.publisher("a")
    let follower = try await bench.follow()
    try await follower.pull()
    let b = try await bench.publisher("b")
    let head = bench.shared + "/" + bench.head(b)
    let segment = try bench.shared + "/" + bench.segment(b)
    let away = (head: bench.place.path + "/head", segment: bench.place.path + "/segment")
    // Its head is read, and what it names is not there yet.
    try bench.move(segment, to: away.segment)
    try await follower.pull()
    #expect(try follower.datastore.ids() == ["a"])
    try bench.move(head, to: away.head)
    try await follower.pull()
    try bench.move(away.segment, to: segment)
    try bench.move(away.head, to: head)
    try await follower.pull()
    #expect(try follower.datastore.ids() == ["a", "b"])
    try follower.close()
    try a.close()
    try b.close()
  }
}
