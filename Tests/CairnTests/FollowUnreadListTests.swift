import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// A file of the list of datastores that can't be read may say that what is there was deleted.
@Suite struct FollowUnreadListTests {
  private let bench: FolderWorkbench
  private var directory: String { bench.folder + "/" + FileName.catalogue }
  private var name: String { FileName.catalogue(installation: 7) }

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// What a list says that knows of a delete: of generation 0 a head is left.
  private func deleted() throws -> [UInt8] {
    let name = "cairn.json"
    let identity = try FolderIdentity.decode(try bench.read(bench.folder + "/" + name), path: name)
    var file = CatalogueFile(folder: identity, installation: 7)
    file.revision = 1
    file.entries[bench.id] = CatalogueEntry(generation: 1, view: nil)
    return file.encoded()
  }

  enum Spoilt: CaseIterable, Sendable {
    case empty, cut, damaged, foreign, newer

    func bytes(_ good: [UInt8]) -> [UInt8] {
      switch self {
      case .empty: return []
      case .cut: return Array(good.prefix(60))
      case .damaged: return Array(good.dropLast())
      case .foreign: return [UInt8](repeating: 0, count: good.count)
      case .newer:
        var newer = good
        newer[10] = 9
        return newer.resummed()
      }
    }
  }

  @Test(arguments: Spoilt.allCases)
  func `who subscribes does not go by what is left of a datastore`(_ spoilt: Spoilt)
    async throws
  {
    let a = try await bench.publisher("a")
    let good = try deleted()
    try bench.makeDirectory(directory)
    try bench.write(directory + "/" + name, spoilt.bytes(good))
    let expected: CairnError.Code = spoilt == .newer ? .needsNewerVersion : .retryLater
    let error = await bench.followError("early")
    #expect(error?.code == expected)
    #expect(error?.file == name && error?.message.contains(name) == true)
    // The same if only the new one is there.
    try bench.move(bench.shared, to: bench.folder + "/g1-p-" + bench.id)
    #expect(await bench.followError("early")?.code == expected)
    try bench.move(bench.folder + "/g1-p-" + bench.id, to: bench.shared)
    #expect(try bench.names(bench.root("early")) == [], "nothing is left")
    try bench.write(directory + "/" + name, good)
    #expect(await bench.followError("late")?.code == .notFound)
    try a.close()
  }

  @Test(arguments: Spoilt.allCases)
  func `what another list has can be subscribed to all the same`(_ spoilt: Spoilt)
    async throws
  {
    let a = try await bench.publisher("a")
    _ = try await a.manager.refresh()
    try bench.write(directory + "/" + name, spoilt.bytes(try deleted()))
    let follower = try await bench.follow()
    try await follower.pull()
    #expect(try follower.datastore.ids() == ["a"])
    try follower.close()
    try a.close()
  }
}
