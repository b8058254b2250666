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

  private static let page = Array("<!DOCTYPE html>\n<html><body>Hello.</body></html>\n".utf8)

  @Test(arguments: CouchPlace.all)
  func `an attachment that is a web page comes`(_ place: CouchPlace) async throws {
    let world = try await CouchWorld(place)
    let revision = try await world.put("d", "{}")
    _ = try await world.attach("d", revision, "i.html", Self.page, type: "text/html")
    let report = try await world.pullAndLook { database throws in
      #expect(try database.document("d")?.attachment(named: "i.html")?.content() == Self.page)
    }
    #expect((report.attachments, report.failedAttachments) == (1, 0))
    await world.end()
  }

  @Test(arguments: [true, false])
  func `a web page that comes unpacked is one, and a page that wants a log-in is none`(
    packs: Bool
  ) async throws {
    let world = try await CouchWorld()
    let memory = try #require(world.memory)
    // As with `compression_level = 0`.
    memory.state.withLock { $0.packs = packs }
    let revision = try await world.put("d", "{}")
    _ = try await world.attach("d", revision, "i.html", Self.page, type: "text/html")
    // One of the right length is told only by a digest that is that of its bytes.
    let logIn = Array("<!DOCTYPE html>\n<html><body>Log in</body></html>\n".utf8)
    #expect(logIn.count == Self.page.count)
    for page in packs ? [logIn + logIn, Self.page] : [logIn + logIn, logIn, Self.page] {
      memory.set { asked in
        asked.path.hasSuffix("i.html") ? .answer(200, [("Content-Type", "text/html")], page) : nil
      }
      try await world.pullAndLook { database throws in
        let attachment = try #require(try database.document("d")?.attachment(named: "i.html"))
        #expect(try attachment.content() == (page == Self.page ? page : nil))
        #expect(try attachment.isStale == (page != Self.page))
      }
    }
  }

  @Test func `a content that is larger than may be is not asked for`() async throws {
    var limits = CouchWorld.limits
    limits.attachmentBytes = 100
    let world = try await CouchWorld(limits: limits)
    let revision = try await world.put("d", "{}")
    let second = try await world.attach("d", revision, "small", [1, 2, 3])
    _ = try await world.attach("d", second, "large", [UInt8](repeating: 1, count: 101))
    let server = try #require(world.memory).server
    for _ in 0..<2 {
      server.clearLog()
      let report = try await world.pullAndLook { database throws in
        #expect(try database.document("d")?.attachment(named: "small")?.content() == [1, 2, 3])
        #expect(try database.staleAttachments().map { try $0.name } == ["large"])
      }
      #expect(report.failedAttachments == 1)
      #expect(report.problems.first?.contains("has 101 bytes") == true)
      #expect(!server.log.contains { $0.contains("/large") })
    }
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

  @Test(arguments: CouchPlace.all)
  func `higher priorities come first, and attachments last`(_ place: CouchPlace) async throws {
    let world = try await world(place)
    for id in ["low", "high", "normal"] { try await world.put(id, "{}") }
    let policy = CouchDBPolicy(
      document: { ["low": .fetch(.low), "high": .fetch(.high)][$0.id] ?? .fetch() },
      attachment: { (stale) throws(CairnError) in
        try stale.name == "sub/n.bin" ? .fetch(.high) : .fetch(.low)
      })
    let store = try world.store()
    let database = try store.database("notes", url: world.url)
    // What is here before each request: the one before it may be on its way into the tables.
    let seen = Lock<[Set<String>]>([])
    let asked = Lock<[String]>([])
    world.memory?.server.observe { request in
      if request.path.hasSuffix("_all_docs") {
        asked.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
      } else if request.path.contains("/d/") {
        asked.withLock { $0.append(request.path) }
      }
    }
    let follower = try world.follower(store) { options in
      (options.policy, options.docsPerRequest, options.maxConcurrentFetches) = (policy, 1, 1)
      options.beforeRequests {
        do {
          var here = Set(try database.ids())
          for attachment in try database.document("d")?.attachments() ?? []
          where try !attachment.isStale { here.insert(try attachment.name) }
          let found = here
          seen.withLock { $0.append(found) }
        } catch { Issue.record(error) }
      }
    }
    try await follower.pull()
    try store.datastore.close()
    // Where it comes, and what is there before.
    let order = [["high"], ["d", "normal"], ["low"], ["sub/n.bin"], ["t.txt"]]
    let all = seen.withLock { $0 }
    for (index, names) in order.enumerated() {
      for here in all where !here.isDisjoint(with: names) {
        #expect(here.isSuperset(of: order[..<index].joined()), "\(names): \(here)")
      }
    }
    #expect(all.contains { $0.count >= 2 && $0.count < 4 })
    guard world.memory != nil else { return await world.end() }
    let requests = asked.withLock { $0 }
    #expect(requests.count == 6)
    #expect(requests.first == #"{"keys":["high"]}"#)
    #expect(requests[3] == #"{"keys":["low"]}"#)
    #expect(requests[4].hasSuffix("n.bin"))
    #expect(requests[5].hasSuffix("t.txt"))
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
