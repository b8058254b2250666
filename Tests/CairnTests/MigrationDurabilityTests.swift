import CairnDisk
import CairnLog
import TestSupport
import Testing

@testable import Cairn

/// What is left of a move when it is over.
@Suite struct MigrationDurabilityTests {
  private let bench = CatalogueBench()

  /// The one that had them is no longer there to have them from.
  @Test(arguments: [true, false])
  func `contents that were moved are there after a power cut, whichever copy had them`(
    isLocal: Bool
  ) throws {
    let (local, account) = (bench.local("l"), bench.manager("a"))
    for manager in [local, account] {
      let datastore = try manager.openDefaultDatastore()
      if manager.isLocal == isLocal {
        try datastore.addPhoto("r", sample(1))
      } else {
        try datastore.add("other")
      }
      try datastore.close()
    }
    try local.migrate(to: account)
    bench.crash(.nothingUnsynced)
    let moved = try bench.manager("a").openDefaultDatastore()
    #expect(try moved.ids() == ["other", "r"])
    #expect(try moved.content(of: "r") == sample(1))
    try moved.close()
  }

  /// The next use of the datastores asks no more what has become of it.
  @Test func `a move that was taken back is over, also when the account is gone`() async throws {
    try await bench.local("l").with("one") { try $0.add("r") }
    let directory = FileName.directory(datastore: "one", generation: 0)
    let staged = "/a/" + FileName.staging(7, directory) + "/CURRENT"
    try bench.disk.setBytes(staged, [1])
    let journal = MigrationJournal(
      flags: 0, token: 7, other: "/a",
      items: [MigrationJournal.Item(directory: directory, source: "")])
    try journal.write("/l", machine: bench.machine)
    #expect(try bench.local("l").ids() == ["one"])
    #expect(bench.disk.bytes(staged) == nil)
    #expect(!bench.files("/l").contains(FileName.journal))
    try bench.disk.removeTree("/a")
    let local = bench.local("l")
    #expect(try local.ids() == ["one"])
    #expect(try local.migrate(to: bench.manager("b")).datastores.map(\.id) == ["one"])
  }
}
