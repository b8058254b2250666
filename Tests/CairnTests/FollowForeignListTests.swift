import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// A file of another folder's list lies in the one that is followed: somebody has copied too much.
@Suite struct FollowForeignListTests {
  @Test func `a list that was written for another folder deletes nothing that is followed`()
    async throws
  {
    let bench = try FolderWorkbench()
    let a = try await bench.publisher("a")
    try await a.manager.refresh()
    let follower = try await bench.follow()
    try await follower.pull()
    let name = "cairn.json"
    let identity = try FolderIdentity.decode(try bench.read(bench.folder + "/" + name), path: name)
    let path = bench.folder + "/catalogue/" + FileName.catalogue(installation: 7)
    func delete(in folder: UInt128) throws {
      var file = CatalogueFile(folder: folder, installation: 7)
      file.revision = 1
      file.entries[bench.id] = CatalogueEntry(generation: 1, view: nil)
      try bench.write(path, file.encoded())
    }
    try delete(in: identity ^ 1)
    #expect(await follower.pullError() == nil)
    #expect(try follower.datastore.ids() == ["a"])
    #expect(await bench.followError("another") == nil, "it can be subscribed to as before")
    try delete(in: identity)
    #expect(await follower.pullError()?.code == .deleted)
    try follower.close()
  }
}
