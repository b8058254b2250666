import Cairn
import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import CairnCouchDB
@testable import TestServers

/// Contents of attachments: apart from documents, verified, stale until they are here.
@Suite struct AttachmentPullTests {
  private static let text = Array(String(repeating: "all work and no play ", count: 400).utf8)
  private static let noise: [UInt8] = {
    let random = SeededRandom(3)
    return (0..<50_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }()

  /// A document `d` with a text, which is kept packed, and noise, which is not.
  private func world(_ place: CouchPlace = .memory) async throws -> CouchWorld {
    let world = try await CouchWorld(place)
    var revision = try await world.put("d", #"{"type":"page"}"#)
    revision = try await world.attach("d", revision, "t.txt", Self.text, type: "text/plain")
    _ = try await world.attach("d", revision, "sub/n.bin", Self.noise)
    return world
  }

  @Test(arguments: CouchPlace.all)
  func `contents come and are those that the document says`(_ place: CouchPlace) async throws {
    let world = try await world(place)
    let report = try await world.pullAndLook { database throws in
      let document = try #require(try database.document("d"))
      #expect(try document.attachments().map { try $0.name } == ["sub/n.bin", "t.txt"])
      let text = try #require(try document.attachment(named: "t.txt"))
      #expect(try text.contentType == "text/plain")
      #expect(try text.length == Int64(Self.text.count))
      #expect(try text.content() == Self.text)
      #expect(try !text.isStale)
      #expect(try text.digest.hasPrefix("md5-"))
      #expect(try text.document == document)
      let noise = try #require(try document.attachment(named: "sub/n.bin"))
      #expect(try noise.content() == Self.noise)
      #expect(try noise.revisionPosition == 3)
      #expect(try database.staleAttachments().isEmpty)
      #expect(try database.statistics().attachments == 2)
      #expect(try document.attachment(named: "other") == nil)
      #expect(throws: CairnError.self) { try noise.content(limit: 100) }
    }
    #expect(report.attachments == 2)
    #expect(report.problems.isEmpty)
    await world.end()
  }

  @Test(arguments: CouchPlace.all)
  func `what changed is fetched again, what stayed is not, what is gone goes`(_ place: CouchPlace)
    async throws
  {
    let world = try await world(place)
    var last = ""
    try await world.pullAndLook {
      last = try $0.document("d")?.revision ?? ""
    }
    last = try await world.attach("d", last, "t.txt", Array("short".utf8), type: "text/plain")
    var report = try await world.pullAndLook { database throws in
      let document = try #require(try database.document("d"))
      #expect(try document.attachment(named: "t.txt")?.content() == Array("short".utf8))
    }
    #expect(report.attachments == 1)
    // Without its stubs a document has none.
    last = try await world.put("d", "{}", over: last)
    report = try await world.pullAndLook { database throws in
      #expect(try database.attachmentsTable.count == 0)
      #expect(try database.document("d")?.attachments().isEmpty == true)
    }
    _ = try await world.attach("d", last, "x", [1])
    try await world.pullAndLook {
      last = try $0.document("d")?.revision ?? ""
    }
    try await world.delete("d", last)
    try await world.pullAndLook {
      try #expect($0.attachmentsTable.count == 0)
    }
    await world.end()
  }

  @Test func `bytes that are not those of the digest stay out`() async throws {
    let world = try await world()
    let memory = try #require(world.memory)
    for name in ["t.txt", "sub/n.bin"] {
      memory.change(world.name) { database in
        database.documents["d"]?.leaves[0].attachments[name]?.plain[5] ^= 1
        database.documents["d"]?.leaves[0].attachments[name]?.kept[30] ^= 1
      }
    }
    let report = try await world.pullAndLook { database throws in
      #expect(try database.ids() == ["d"])
      #expect(try database.staleAttachments().count == 2)
      #expect(try database.document("d")?.attachment(named: "t.txt")?.content() == nil)
      #expect(try database.statistics().staleAttachments == 2)
    }
    #expect(report.failedAttachments == 2)
    #expect(report.problems.count == 2)
    for name in ["t.txt", "sub/n.bin"] {
      memory.change(world.name) { database in
        database.documents["d"]?.leaves[0].attachments[name]?.plain[5] ^= 1
        database.documents["d"]?.leaves[0].attachments[name]?.kept[30] ^= 1
      }
    }
    // Nothing has changed on the server, and yet they are asked for again.
    let next = try await world.pullAndLook {
      try #expect($0.staleAttachments().isEmpty)
    }
    #expect((next.documents, next.attachments) == (0, 2))
  }

  @Test func `packed bytes with another digest stay out, even if they unpack`() async throws {
    let world = try await world()
    try #require(world.memory).change(world.name) { database in
      let other = Self.text.reversed()
      database.documents["d"]?.leaves[0].attachments["t.txt"]?.plain = Array(other)
      database.documents["d"]?.leaves[0].attachments["t.txt"]?.kept =
        MemoryCouch.packed(Array(other))
    }
    let report = try await world.pull()
    #expect(report.failedAttachments == 1)
    #expect(report.problems.first?.contains("digest") == true)
  }

  @Test func `a proxy that unpacks on the way is borne, one that cuts is not`() async throws {
    let world = try await world()
    let memory = try #require(world.memory)
    memory.set { asked in
      asked.path.hasSuffix("t.txt")
        ? .answer(200, [("Content-Type", "text/plain")], Self.text) : nil
    }
    try await world.pullAndLook { database throws in
      #expect(try database.document("d")?.attachment(named: "t.txt")?.content() == Self.text)
    }
    memory.set { asked in
      asked.path.hasSuffix("t.txt")
        ? .answer(200, [("Content-Type", "text/plain")], Array(Self.text.dropLast())) : nil
    }
    let store = try world.store()
    try store.database("notes").purge()
    let report = try await world.follower(store).pull()
    #expect(report.failedAttachments == 1)
    try store.datastore.close()
  }

  @Test(arguments: CouchPlace.all)
  func `the policy chooses, and is asked again about what was left`(_ place: CouchPlace)
    async throws
  {
    let world = try await world(place)
    for index in 0..<4 { try await world.put("x\(index)", #"{"n":\#(index)}"#) }
    let few = CouchDBPolicy(
      document: { $0.id.hasPrefix("x") ? .leave : .fetch() },
      attachment: { (stale) throws(CairnError) in
        try stale.length > 10_000 ? .leave : .fetch(.low)
      })
    var report = try await world.pull {
      $0.policy = few
    } look: { database throws in
      #expect(try database.ids() == ["d"])
      #expect(try database.statistics().waitingDocuments == 4)
      #expect(try database.staleAttachments().map { try $0.name } == ["sub/n.bin"])
    }
    #expect((report.documents, report.left, report.attachments) == (1, 4, 1))
    // The same answers bring nothing.
    report = try await world.pull { $0.policy = few }
    #expect((report.documents, report.attachments) == (0, 0))
    report = try await world.pull {
      $0.policy = .documentsOnly
    } look: { database throws in
      #expect(try database.ids().count == 5)
      #expect(try database.statistics().waitingDocuments == 0)
    }
    #expect((report.documents, report.attachments) == (4, 0))
    report = try await world.pull()
    #expect((report.documents, report.attachments) == (0, 1))
    // One that was left and is deleted waits no longer.
    let revision = try await world.put("x9", "{}")
    try await world.pull { $0.policy = few }
    try await world.delete("x9", revision)
    try await world.pull {
      $0.policy = few
    } look: {
      try #expect($0.statistics().waitingDocuments == 0)
    }
    await world.end()
  }

  @Test func `higher priorities come first, and attachments last`() async throws {
    let world = try await world()
    for id in ["low", "high", "normal"] { try await world.put(id, "{}") }
    let memory = try #require(world.memory)
    let order = Lock<[String]>([])
    memory.server.observe { asked in
      if asked.path.hasSuffix("_all_docs") {
        order.withLock { $0.append(String(decoding: asked.body, as: UTF8.self)) }
      } else if asked.path.contains("/d/") {
        order.withLock { $0.append(asked.path) }
      }
    }
    let policy = CouchDBPolicy(
      document: { ["low": .fetch(.low), "high": .fetch(.high)][$0.id] ?? .fetch() },
      attachment: { (stale) throws(CairnError) in
        try stale.name == "sub/n.bin" ? .fetch(.high) : .fetch(.low)
      })
    try await world.pull {
      ($0.policy, $0.docsPerRequest, $0.maxConcurrentFetches) = (policy, 1, 1)
    }
    let asked = order.withLock { $0 }
    #expect(asked.count == 6)
    #expect(asked.first == #"{"keys":["high"]}"#)
    #expect(asked[3] == #"{"keys":["low"]}"#)
    #expect(asked[4].hasSuffix("n.bin"))
    #expect(asked[5].hasSuffix("t.txt"))
  }

  @Test func `packed bytes that stand for nothing end`() async throws {
    let world = try await world()
    // Blocks of nothing, none of them the last.
    let empty: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
    let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    let body = head + Array([[UInt8]](repeating: empty, count: 300_000).joined())
    try #require(world.memory).set { asked in
      asked.path.hasSuffix("t.txt")
        ? .answer(200, [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")], body) : nil
    }
    let report = try await world.pull()
    #expect((report.attachments, report.failedAttachments) == (1, 1))
    #expect(report.problems.first?.contains("of a packed attachment") == true)
  }

  @Test func `what was packed before it was uploaded comes, unpacked and verified`() async throws {
    let world = try await world()
    let memory = try #require(world.memory)
    // CouchDB says the packed length twice then.
    memory.change(world.name) { database in
      let kept = database.documents["d"]?.leaves[0].attachments["t.txt"]?.kept
      database.documents["d"]?.leaves[0].attachments["t.txt"]?.length = kept?.count
    }
    // Unpacked on the way nothing says whether it is whole; with a byte changed it is not.
    for damage in 0..<2 {
      memory.set { asked in
        guard asked.path.hasSuffix("t.txt") else { return nil }
        if damage == 0 { return .answer(200, [("Content-Type", "text/plain")], Self.text) }
        let other = MemoryCouch.packed(Array(Self.text.reversed()))
        return .answer(200, [("Content-Encoding", "gzip")], other)
      }
      try await world.pullAndLook { database throws in
        #expect(try database.document("d")?.attachment(named: "t.txt")?.isStale == true)
      }
    }
    memory.heal()
    let report = try await world.pullAndLook { database throws in
      let text = try #require(try database.document("d")?.attachment(named: "t.txt"))
      #expect(try text.content() == Self.text)
      #expect(try !text.isStale)
    }
    #expect((report.attachments, report.failedAttachments) == (1, 0))
  }
}
