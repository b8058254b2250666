import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Segments that are in the snapshot and only kept until they are published.
struct KeptSegmentTests {
  /// 200 deltas of two kilobytes that can't be packed, in some segments of 64 KiB, all of them in
  /// the snapshot, and one delta behind it, if any.
  private func sample(endsInSnapshot: Bool = false) throws -> StoreDevice {
    let device = try StoreDevice(1) { $0.segmentBytes = 64 << 10 }
    let random = SeededRandom(5)
    for number in 0..<200 {
      let bytes = (0..<2000).map { _ in UInt8(random.below(256)) }
      try device.store.insert("r\(number)", ["bytes": .bytes(bytes)])
      try device.store.sync()
    }
    _ = try device.store.compact()
    if endsInSnapshot { return device }
    try device.store.insert("later", ["number": 1])
    try device.store.sync()
    return device
  }

  private func published(_ device: StoreDevice) throws -> StoreContent {
    let other = try StoreDevice(2)
    #expect(try other.store.sync(packs: [device.store.pack()]).failures.isEmpty)
    return try StoreContent(other.store)
  }

  private var kept: String { StoreDevice.directory + "/log/" + FileName.segment(2) }

  @Test func `an opening does not read them`() throws {
    let device = try sample()
    let before = device.disk.bytesRead
    try device.reopen()
    #expect(device.disk.bytesRead - before < 100_000)
    #expect(try published(device) == StoreContent(device.store))
  }

  @Test func `nor does one where they are all that there is`() throws {
    let device = try sample(endsInSnapshot: true)
    let content = try StoreContent(device.store)
    let before = device.disk.bytesRead
    try device.reopen()
    #expect(device.disk.bytesRead - before < 100_000)
    #expect(try StoreContent(device.store) == content)
    #expect(try published(device) == content)
    // What comes next is in a segment of its own, durable as ever.
    for number in 0..<3 {
      try device.store.insert("next\(number)", ["number": 1])
      try device.store.sync()
      try device.crash(.nothingUnsynced)
      #expect(try device.store.get("next\(number)") == ["number": 1])
      #expect(device.store.recovery.isEmpty)
    }
    #expect(try published(device) == StoreContent(device.store))
  }

  @Test func `the next segment goes on with the chain of the last one`() throws {
    let device = try sample()
    try device.reopen()
    try device.store.insert("last", ["number": 2])
    try device.store.sync()
    try device.reopen()
    #expect(try published(device) == StoreContent(device.store))
    let log = StoreDevice.directory + "/log/"
    var chain: UInt128 = 0
    for name in try device.disk.list(log).map(\.name).sorted() {
      let scan = try SegmentScan(try #require(device.disk.bytes(log + name)), path: name)
      guard let footer = scan.footer else { continue }
      #expect(footer.previous == chain)
      chain = footer.chain
    }
    #expect(chain != 0)
  }

  @Test(arguments: ["second", "last"])
  func `what is damaged in one is named when it is published`(which: String) throws {
    let device = try sample()
    let content = try StoreContent(device.store)
    try device.store.close()
    let log = StoreDevice.directory + "/log/"
    let names = try device.disk.list(log).map(\.name).sorted()
    try #require(names.count > 3)
    let damaged = log + (which == "last" ? names[names.count - 2] : names[1])
    try device.disk.corrupt(damaged, 10_000, xor: 4)
    try device.open()
    #expect(try StoreContent(device.store) == content)
    do {
      _ = try device.store.pack()
      Issue.record("a damaged delta was published")
    } catch {
      let found = try #require((error as? StoreError)?.log)
      #expect(found.path == damaged && found.reason == .corrupt)
      // The frame that it is in has two kilobytes.
      #expect(try (7_800...10_000).contains(#require(found.offset)))
      #expect(found.detail.contains("cairn repair"))
    }
  }

  @Test func `one that has lost its end is no end of the log`() throws {
    let device = try sample()
    try device.store.close()
    let file = try device.disk.open(kept, .readWrite)
    try file.truncate(to: try file.size() - 1)
    file.close()
    do {
      try device.open()
      Issue.record("it was opened")
    } catch { #expect((error as? StoreError)?.log?.path == kept) }
  }

  /// Nobody would miss it until there is another one behind it.
  @Test func `the last one is missed, also where none is behind it`() throws {
    let device = try sample(endsInSnapshot: true)
    try device.store.close()
    let log = StoreDevice.directory + "/log/"
    let names = try device.disk.list(log).map(\.name).sorted()
    try #require(names.count > 3)
    let gone = log + names[names.count - 1]
    try device.disk.remove(gone)
    let before = device.disk.imageHash()
    do {
      try device.open()
      Issue.record("it was opened")
    } catch {
      let found = (error as? StoreError)?.log
      #expect(found?.reason == .missing && found?.path == gone)
    }
    #expect(device.disk.imageHash() == before)
    #expect(device.disk.openFiles == 0 && device.disk.heldLocks == 0)
  }

  @Test func `one of another datastore is refused`() throws {
    let device = try sample()
    let other = try StoreDevice(9) { $0.segmentBytes = 64 << 10 }
    for number in 0..<2 {
      try other.store.insert("r\(number)", ["bytes": .bytes([UInt8](repeating: 1, count: 70_000))])
      try other.store.sync()
    }
    try device.store.close()
    let name = StoreDevice.directory + "/log/" + FileName.segment(1)
    let bytes = try #require(other.disk.bytes(name))
    let file = try device.disk.open(kept, .readWrite)
    try file.truncate(to: 0)
    try file.write(bytes.span, at: 0)
    file.close()
    do {
      try device.open()
      Issue.record("it was opened")
    } catch { #expect((error as? StoreError)?.log?.reason == .foreign) }
  }

  /// 50 deltas of 100 kilobytes, a segment each, all of them in the snapshot, and one behind it.
  private func large() throws -> StoreDevice {
    let device = try StoreDevice(1) { $0.segmentBytes = 64 << 10 }
    let random = SeededRandom(6)
    for number in 0..<50 {
      let bytes = (0..<100_000).map { _ in UInt8(random.below(256)) }
      try device.store.insert("r\(number)", ["bytes": .bytes(bytes)])
      try device.store.sync()
    }
    _ = try device.store.compact()
    try device.store.insert("later", ["number": 1])
    try device.store.sync()
    return device
  }

  private func segments(_ device: StoreDevice) throws -> Int {
    try device.disk.list(StoreDevice.directory + "/log").count
  }

  @Test(arguments: [CrashModel.nothingUnsynced, .everything])
  func `what is published goes, and the store is the same after a power cut`(
    model: CrashModel
  ) throws {
    let device = try large()
    let content = try StoreContent(device.store)
    #expect(try segments(device) > 50)
    device.store.confirmPublished(through: 51)
    try device.store.dropPublished(through: 51)
    #expect(try segments(device) == 1)
    #expect(try StoreContent(device.store) == content)
    try device.crash(model)
    #expect(try StoreContent(device.store) == content)
    #expect(device.store.recovery.isEmpty)
    try device.store.insert("next", ["number": 2])
    try device.store.sync()
    try device.reopen()
    #expect(try device.store.get("next") == ["number": 2])
    #expect(try StoreContent(device.store) != content)
  }

  @Test func `what is not published stays, and so does what is too little`() throws {
    let device = try large()
    let before = try segments(device)
    try device.store.dropPublished(through: 51)
    #expect(try segments(device) == before, "nobody has confirmed that")
    device.store.confirmPublished(through: 48)
    try device.store.dropPublished(through: 20)
    #expect(try segments(device) == before, "two megabytes")
    try device.store.dropPublished(through: 51)
    #expect(try segments(device) < 10)
    let rest = try device.store.ownPack(after: 48, through: 51, limit: 1 << 30)
    #expect(rest?.first == 49 && rest?.last == 51)
    try device.reopen()
    #expect(try device.store.ownPack(after: 48, through: 51, limit: 1 << 30)?.last == 51)
  }

  @Test func `a power cut in the middle leaves all of it or nothing that is needed`() throws {
    var whole = 0
    for step in 1...12 {
      for model in [CrashModel.nothingUnsynced, .everything] {
        let device = try large()
        let content = try StoreContent(device.store)
        device.store.confirmPublished(through: 51)
        device.disk.powerOff(before: device.disk.operations + step)
        do { try device.store.dropPublished(through: 51) } catch {
          try #require(device.disk.isOff, "\(error)")
        }
        try device.crash(model)
        #expect(try StoreContent(device.store) == content)
        #expect(device.store.recovery.isEmpty)
        if try segments(device) > 50 { whole += 1 }
        try device.store.insert("next", ["number": 2])
        try device.store.sync()
        try device.reopen()
        #expect(try device.store.get("next") == ["number": 2])
      }
    }
    #expect((1..<24).contains(whole))
  }
}
