import ArgumentParser
import Cairn
import CairnBytes
import CairnDisk
import CairnFuzzEntries
import CairnFuzzStore
import CairnLog
import CairnMerge
import TestSupport

/// Writes the inputs that fuzzing starts from: golden files, and the files of two small devices.
struct SeedsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "seeds", abstract: "Writes what the fuzz targets start from, by target.")

  @Argument(help: "Directory; each target has one in it.")
  var directory: String

  func run() async throws {
    var seeds = Seeds()
    try seeds.addGolden()
    try await seeds.addDevices()
    try await seeds.addRareKinds()
    seeds.addTexts()
    let disk = PosixDisk()
    for (index, seed) in seeds.all.enumerated() {
      let place = directory + "/" + seed.target.rawValue
      try disk.createDirectory(place)
      let path = place + "/seed-\(index)"
      if try disk.info(path) != nil { try disk.remove(path) }
      let file = try disk.open(path, .create)
      try file.write(seed.bytes.span, at: 0)
      file.close()
    }
    print("seeds: \(seeds.all.count)")
  }
}

/// Inputs by target.
private struct Seeds {
  var all: [(target: FuzzTarget, bytes: [UInt8])] = []

  mutating func add(_ target: FuzzTarget, _ bytes: [UInt8]) { all.append((target, bytes)) }

  private func golden(_ name: String) throws -> [UInt8] {
    try ProjectFile.bytes("Tests/CairnLogTests/Golden/v1/\(name)")
  }

  /// A number before the bytes, and their length before them where several follow.
  private func sized(_ form: UInt8?, _ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = form.map { [$0] } ?? []
    out.put(UInt16(truncatingIfNeeded: bytes.count))
    return out + bytes
  }

  private func kind(_ kind: FileKind) -> UInt8 {
    UInt8(FileKind.small.firstIndex(of: kind) ?? 0)
  }

  mutating func addGolden() throws {
    for name in ["active.seg", "sealed.seg", "packed.seg"] {
      let bytes = try golden(name)
      add(.segment, bytes)
      let scan = try SegmentScan(bytes, path: name)
      for frame in scan.frames {
        var out: [UInt8] = []
        out.put(scan.header.seedBase)
        add(.frame, out + bytes[frame.offset..<frame.end])
        let payload = try frame.payload(bytes)
        if frame.kind == FrameKind.delta.rawValue { add(.delta, [0] + payload) }
      }
    }
    for name in ["empty.snap", "forms.snap"] {
      let bytes = try golden(name)
      add(.snapshot, bytes)
      let reader = try SnapshotReader(name, disk: OneFileDisk(bytes))
      add(.delta, [7, UInt8(reader.blockCount)] + reader.description)
      var out = sized(nil, reader.description)
      for number in 0..<reader.blockCount { out += sized(nil, try reader.block(number)) }
      add(.block, out)
    }
    for name in ["everything.pack", "lists.pack"] {
      let bytes = try golden(name)
      add(.delta, [1] + bytes)
      add(.packs, sized(nil, bytes))
      add(.folder, sized(10, bytes))
    }
    add(.packs, sized(nil, try golden("lists.pack")) + sized(nil, try golden("everything.pack")))
    for name in ["record.state", "record-bases.state"] { add(.delta, [2] + (try golden(name))) }
    add(.delta, [3] + (try golden("lists.state")))
    add(.files, [kind(.current)] + (try golden("current.bin")))
    add(.files, [kind(.catalogue)] + (try golden("catalogue.cat")))
    for name in ["published.seg", "published-packed.seg"] {
      add(.files, [kind(.published)] + (try golden(name)))
      add(.folder, sized(6, try golden(name)))
    }
    var packed: [UInt8] = []
    let text = try golden("forms.snap")
    _ = LZ4.pack(text, 0..<4096, into: &packed)
    add(.lz4, [0, 16] + packed.prefix(600))
    add(.lz4, [0, 1] + text.prefix(256))
  }

  mutating func addDevices() async throws {
    let disk = MemoryDisk()
    let accounts = try SampleWorld.accountManager(disk)
    try disk.createDirectory(SampleWorld.folder)
    _ = try accounts.link(
      Account(user: "ann", folder: .directory(SampleWorld.folder)),
      info: AccountInfo(userName: "Ann", orgName: "W"), credentials: .bearer("rabbit"))
    for (index, root) in ["/a", "/b", "/a"].enumerated() {
      let manager = SampleWorld.manager(disk, root, seed: UInt64(index + 1))
      let datastore = try manager.openOrCreateDatastore("notes")
      _ = try await datastore.exchange()
      _ = try datastore.sync()
      let table = try datastore.table("own")
      try table.insert(["n": 1, "l": [1, "x"], "t": "text"], id: RecordID("r\(index)"))
      try table.setRule(.sum, field: "n")
      try table[RecordID("r\(index)")].list("list").append("item")
      _ = try datastore.sync()
      let mine = try table.getOrInsert("mine", fields: ["text": "kept"]).0
      try mine.set("n", .int(Int64(index)))
      try mine.list("list").append(.int(Int64(index)))
      _ = try datastore.sync()
      _ = try await datastore.exchange()
      if index == 1 { _ = try datastore.compact() }
      _ = try await datastore.exchange()
      try datastore.close()
      try await manager.refresh()
      try manager.shutDown()
    }
    for path in disk.paths() {
      guard let kind = SampleWorld.kind(path), let bytes = disk.bytes(path) else { continue }
      switch kind {
      case .segment: add(.segment, trimmed(bytes))
      case .snapshot: add(.snapshot, bytes)
      default: add(.files, [self.kind(kind)] + bytes)
      }
      guard path.hasPrefix(SampleWorld.folder) else { continue }
      switch kind {
      case .published:
        let owner = UInt128(bytes.u64(at: 24)) << 64 | UInt128(bytes.u64(at: 16))
        let pack = try PublishedSegment(bytes, name: path, datastore: owner).pack
        add(.folder, sized(10, pack) + sized(6, bytes))
        add(.packs, sized(nil, pack))
        add(.delta, [1] + pack)
      case .head: add(.folder, sized(4, bytes) + sized(0x13, bytes) + sized(12, bytes))
      case .catalogue: add(.folder, sized(2, bytes) + sized(1, bytes))
      case .identity: add(.folder, sized(0, bytes))
      default: break
      }
    }
  }

  /// Small files that two plain devices don't have.
  mutating func addRareKinds() async throws {
    let disk = try await SampleWorld.make(seed: 1).disk
    for path in disk.paths() {
      guard let kind = SampleWorld.kind(path), let bytes = disk.bytes(path),
        [.chains, .role, .deleted, .held].contains(kind), bytes.count < 4096
      else { continue }
      add(.files, [self.kind(kind)] + bytes)
    }
  }

  /// Without the room behind the last frame.
  private func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    let end = bytes.lastIndex { $0 != 0 } ?? 0
    return Array(bytes.prefix(end + 9))
  }

  mutating func addTexts() {
    let names = [
      "0000000000000001.seg", "000000000000000a.snap", "00000000000000ff.head",
      "00000000000000ff.cat", "00000000000000ff.tmp", "p-notes", "s-.ab.c-", "g2-p-notes",
      "m00000000000000ff-p-notes", "AAAAAAAAAAAAAAAAAAAAAA", "default", ".Ab-_",
      "00000000000000ff-1-20-000102030405060708090a0b0c0d0e0f.seg",
      "000102030405060708090a0b0c0d0e0f.snap", "../../etc/passwd", "CON", "notes.head",
      "00000000000000ff (conflicted copy 2026-01-01).head",
      "00000000000000ff.sync-conflict-20260101-120000-ABCDEFG.head",
    ]
    for name in names { add(.names, Array(name.utf8)) }
    add(.text, [0] + Array("$id,a,b\n1,2.5,\"x \"\"y\"\"\"\r\n2,true,\n".utf8))
    add(.text, [4] + Array("k,a\nx,1e5\n".utf8))
    let line =
      #"{"$id":"r","a":[1,"é\u00e9\ud83d\ude00"],"d":{"$date":5},"y":{"$bytes":"AQI="},"#
      + #""n":null,"x":-1.5e-7,"f":{"$double":"nan"}}"# + "\n{}\n"
    add(.text, [1] + Array(line.utf8))
    add(.text, [2] + Array(#"[[{"a":[{}]}],true,null,1.0,-0]"#.utf8))
    for seed in UInt64(0)..<6 {
      add(.store, SeededRandom(seed).bytes(40 + Int(seed) * 20))
    }
    add(.store, [0, 1, 6, 0, 10, 24, 2, 1, 6, 0, 8, 0, 9, 0, 0, 2, 6, 0, 11, 3, 4, 1, 6, 0, 9, 0])
  }
}
