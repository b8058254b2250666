import Cairn
import CairnBytes
import CairnLog
import TestSupport
import Testing

/// The file by which installations tell one another what there is.
@Suite struct CatalogueFileTests {
  static let sample: CatalogueFile = {
    var file = CatalogueFile(
      folder: 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100, installation: 0x8877_6655_4433_2211)
    file.revision = 3
    file.nonce = 0xFEDC_BA98_7654_3210
    file.entries["default"] = CatalogueEntry(
      generation: 1,
      view: CatalogueView(
        title: "Tasks", modified: 1_700_000_000_000, deltas: 2, records: 1, size: 1304))
    file.entries["old"] = CatalogueEntry(generation: 1, view: nil)
    return file
  }()

  private static let name = "8877665544332211.cat"

  @Test func `the example of the page`() throws {
    let bytes = try FormatPage.example("catalogue")
    #expect(Self.sample.encoded() == bytes)
    #expect(try CatalogueFile(bytes, name: Self.name) == Self.sample)
    #expect(FileName.catalogue(installation: Self.sample.installation) == Self.name)
    #expect(FileName.catalogueInstallation(Self.name) == Self.sample.installation)
  }

  @Test func `files of version 1 are read for ever`() throws {
    let bytes = try GoldenFile.bytes("catalogue.cat", written: Self.sample.encoded())
    #expect(bytes == Self.sample.encoded())
    #expect(try CatalogueFile(bytes, name: Self.name) == Self.sample)
  }

  @Test func `every truncation and every changed byte is refused`() {
    let bytes = Self.sample.encoded()
    for count in bytes.indices {
      #expect(throws: LogError.self) {
        try CatalogueFile(Array(bytes[0..<count]), name: Self.name)
      }
    }
    for index in bytes.indices {
      for bit in 0..<8 {
        var copy = bytes
        copy[index] ^= 1 << bit
        #expect(throws: LogError.self) { try CatalogueFile(copy, name: Self.name) }
      }
    }
  }

  /// Whoever writes a file can make its checksum right: nothing is believed for that.
  @Test func `a changed byte under a right checksum is refused or harmless`() {
    let bytes = Self.sample.encoded()
    var refused = 0
    for index in 0..<(bytes.count - 16) {
      for value in 0...255 {
        var copy = bytes
        copy[index] = UInt8(value)
        guard let file = try? CatalogueFile(copy.resummed(), name: Self.name) else {
          refused += 1
          continue
        }
        for (id, entry) in file.entries {
          #expect(Datastore.isValidId(id))
          #expect(entry.generation <= CatalogueEntry.generationMax)
        }
        #expect(file.installation != 0)
      }
    }
    #expect(refused > bytes.count)
  }

  @Test func `a newer version is read as far as it is known, or left alone`() throws {
    var bytes = Self.sample.encoded()
    bytes[8] = 2
    // An entry with something behind it, and something behind all entries.
    let old = "old"
    let entry = [UInt8(1 + old.utf8.count + 2), UInt8(old.utf8.count)] + Array(old.utf8) + [1, 0]
    var longer = entry
    longer[0] += 2
    longer += [7, 7]
    let newer = try #require(bytes.replacing(entry, by: longer))
    let end = newer.count - 16
    let appended = Array(newer[0..<end]) + [9, 9, 9] + Array(newer[end...])
    #expect(try CatalogueFile(appended.resummed(), name: Self.name) == Self.sample)
    bytes[10] = 2
    let error = #expect(throws: LogError.self) {
      try CatalogueFile(bytes.resummed(), name: Self.name)
    }
    #expect(error?.reason == .needsNewerVersion(2))
  }

  @Test func `a newer installation's file is reported, left alone, and what it said holds`()
    async throws
  {
    let bench = CatalogueBench()
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.setTitle("title") }
    try await a.refresh()
    try await b.refresh()
    let name = try #require(bench.catalogues.first)
    var bytes = try #require(bench.disk.bytes("/folder/catalogue/" + name))
    bytes[10] = 9
    try bench.disk.setBytes("/folder/catalogue/" + name, bytes.resummed())
    bench.clock.advance(by: 5)
    try bench.disk.setBytes("/folder/catalogue/" + name, bytes.resummed())
    for _ in 0..<2 {
      let report = try await b.refresh()
      #expect(report.waiting.map(\.name) == [name])
      #expect(report.waiting.first?.reason.contains("newer version") == true)
    }
    #expect(try b.listDatastores().map(\.title) == ["title"])
    #expect(bench.disk.bytes("/folder/catalogue/" + name) == bytes.resummed())
  }

  @Test func `damage and copies are told apart`() async throws {
    let bench = CatalogueBench()
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.setTitle("title") }
    try await a.refresh()
    try await b.refresh()
    let name = try #require(bench.catalogues.first)
    let good = try #require(bench.disk.bytes("/folder/catalogue/" + name))
    try bench.disk.setBytes("/folder/catalogue/copy (1).cat", good)
    try bench.disk.setBytes("/folder/catalogue/.DS_Store", [1, 2, 3])
    #expect(try await b.refresh().problems == [])
    bench.clock.advance(by: 5)
    try bench.disk.setBytes("/folder/catalogue/" + name, good.flipped(at: 70))
    for _ in 0..<2 {
      #expect(try await b.refresh().problems.map(\.name) == [name])
      #expect(try b.listDatastores().map(\.title) == ["title"])
    }
    #expect(bench.files("/b/quarantine").count == 2)
    // Its owner writes it again.
    #expect(try await a.refresh().problems.map(\.name) == [name])
    bench.clock.advance(by: 5)
    #expect(try await b.refresh().problems == [])
    #expect(try await a.refresh().isIdle)
    #expect(try b.listDatastores().map(\.title) == ["title"])
  }

  @Test(arguments: [false, true])
  func `what an engine is just bringing is nobody's list`(isWhole: Bool) async throws {
    let bench = CatalogueBench()
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n") { try $0.setTitle("title") }
    try await a.refresh()
    let name = try #require(bench.catalogues.first)
    let path = "/folder/catalogue/" + name
    let bytes = try #require(bench.disk.bytes(path))
    try bench.disk.remove(path)
    let coming = "/folder/catalogue/.syncthing.\(name).tmp"
    try bench.disk.setBytes(coming, isWhole ? bytes : Array(bytes.dropLast(9)))
    let report = try await b.refresh()
    #expect(report.problems == [] && report.waiting == [])
    #expect(bench.files("/b/quarantine") == [])
    try bench.disk.remove(coming)
    try bench.disk.setBytes(path, bytes)
    try await b.refresh()
    #expect(try b.listDatastores().map(\.title) == ["title"])
  }

  @Test func `what belongs under another name is told, and what is no list is left alone`()
    async throws
  {
    let bench = CatalogueBench()
    let (a, b) = (bench.manager("a"), bench.manager("b"))
    try await a.with("n")
    try await a.refresh()
    let directory = "/folder/catalogue/"
    let path = directory + (try #require(bench.catalogues.first))
    let good = try #require(bench.disk.bytes(path))
    try bench.disk.remove(path)
    try bench.disk.setBytes(directory + "copy (1).cat", good)
    try bench.disk.setBytes(directory + FileName.temporary(7), good)
    try bench.disk.setBytes(directory + "notes.txt", [UInt8](repeating: 7, count: 500))
    let report = try await b.refresh()
    #expect(report.problems.map(\.name) == ["copy (1).cat"])
    #expect(report.problems.first?.reason.contains("belongs under another name") == true)
    #expect(try report.waiting == [] && b.listDatastores() == [])
    #expect(bench.files("/b/quarantine").count == 2, "its bytes and the reason")
  }

  // MARK: merging

  @Test func `merging is a pure function of the set of files`() {
    let random = SeededRandom(4)
    func file() -> CatalogueFile {
      var file = CatalogueFile(folder: 1, installation: random.next() | 1)
      for id in ["a", "b", ".C"] where random.coin() {
        let titles = [nil, "", "x", "e\u{301}", "\u{E9}"]
        let view = CatalogueView(
          title: titles[random.below(5)], modified: random.coin() ? nil : Int64(random.below(3)),
          deltas: UInt64(random.below(2)), records: UInt64(random.below(2)),
          size: UInt64(random.below(2)))
        file.entries[id] = CatalogueEntry(
          generation: UInt32(random.below(3)), view: random.coin() ? view : nil)
      }
      return file
    }
    for _ in 0..<500 {
      let files = (0..<4).map { _ in file() }
      let merged = Catalogue.merged(files)
      var shuffling = random
      #expect(Catalogue.merged(files.shuffled(using: &shuffling)) == merged)
      #expect(Catalogue.merged(files + files) == merged)
      var half = CatalogueFile(folder: 1, installation: 1)
      half.entries = Catalogue.merged(Array(files[0..<2]))
      #expect(Catalogue.merged([half] + files[2...]) == merged)
      for (id, entry) in merged {
        let all = files.compactMap { $0.entries[id] }
        #expect(entry.generation == all.map(\.generation).max())
        let views = all.filter { $0.generation == entry.generation }.compactMap(\.view)
        #expect(entry.view == views.max())
        #expect(entry.view.map { view in views.contains { Self.isSame($0, view) } } ?? true)
      }
    }
  }

  private static func isSame(_ a: CatalogueView, _ b: CatalogueView) -> Bool {
    a.title.map { Array($0.utf8) } == b.title.map { Array($0.utf8) } && a.modified == b.modified
      && a.deltas == b.deltas && a.records == b.records && a.size == b.size
  }

  @Test func `long titles are cut between characters`() {
    let view = CatalogueView(
      title: String(repeating: "ä", count: 700), modified: nil, deltas: 0, records: 0, size: 0)
    #expect(view.title == String(repeating: "ä", count: 500))
  }
}
