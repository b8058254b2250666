import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What happens to all of the folder at once.
extension FaultWorld {
  /// All that was in the folder at some time.
  struct Past {
    var files: [String: [UInt8]]
    /// Which of them were somebody else's.
    var strangers: [String: [UInt8]]
  }

  private func everything() async throws -> [String: [UInt8]] {
    var paths = [FileName.folderIdentity]
    for directory in [FaultWorld.directory, FaultWorld.blobDirectory] {
      paths += try await folder.list(directory).map { directory + "/" + $0.name }
    }
    var files: [String: [UInt8]] = [:]
    for path in paths { files[path] = try await bytes(path) }
    return files
  }

  /// Once in a while, as soon as everybody has published something: a folder that is older than
  /// that is another one for them.
  mutating func keepPast() async throws {
    guard devices.allSatisfy({ !$0.safe.isEmpty }) else { return }
    past = Past(files: try await everything(), strangers: strangers)
  }

  /// A copy from before is put in the place of the folder.
  mutating func rollBack() async throws {
    guard let past else { return }
    let now = try await everything()
    for path in now.keys.sorted() where past.files[path] == nil { try await folder.remove(path) }
    for (path, bytes) in past.files.sorted(by: { $0.key < $1.key }) where now[path] != bytes {
      _ = try await folder.write(path, bytes)
    }
    (strangers, self.past) = (past.strangers, nil)
  }

  /// Everything is gone, as on a disk that is not mounted: nobody writes anything there, or loses
  /// what it has. Then it is there again.
  mutating func emptyFolder() async throws {
    proxy.deliverLate()
    let files = try await everything()
    for path in files.keys.sorted() { try await folder.remove(path) }
    // To whom an old listing is shown just then, the folder is what it was.
    proxy.tellTheTruth(true)
    for index in devices.indices {
      let before = try devices[index].datastore.ids()
      for _ in 0..<2 { try await exchange(index) }
      let after = try devices[index].datastore.ids()
      #expect(before.isSubset(of: after), "\(devices[index].name)")
    }
    #expect(try await everything() == [:])
    proxy.tellTheTruth(false)
    for (path, bytes) in files.sorted(by: { $0.key < $1.key }) {
      _ = try await folder.write(path, bytes)
    }
  }
}
