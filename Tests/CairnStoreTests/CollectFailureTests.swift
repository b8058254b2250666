import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A commit may have to read the snapshot, to know whether a value is the one that was there.
struct CollectFailureTests {
  private static let log = StoreDevice.directory + "/log"

  private func segments(_ device: StoreDevice) throws -> Int {
    try device.disk.list(Self.log).count
  }

  @Test func `a commit that could not read what it changes gives its records no numbers`() throws {
    let device = try StoreDevice(1) { $0.cacheBytes = 0 }
    let text = FieldValue.string(String(repeating: "some text ", count: 200))
    // More than one block: of those one alone is kept.
    for number in 100..<200 { try device.store.insert("r\(number)", ["n": 0, "text": text]) }
    try device.store.sync()
    _ = try device.store.compact()
    try device.reopen()
    try device.store.insert(table: "a", id: RecordName("first"), [("n", .int(1))])
    try device.store.sync()
    let before = try segments(device)

    try device.store.insert(table: "a", id: RecordName("new"), [("n", .int(2))])
    try device.store.set("r100", ["n": 3])
    try device.store.set("r199", ["n": 4])
    device.disk.failAt(read: device.disk.reads + 1, reason: .io(errno: 5), forever: true)
    let error = #expect(throws: StoreError.self) { try device.store.sync() }
    device.disk.heal()
    #expect(error?.log?.path.contains("/snap/") == true)
    #expect(try segments(device) == before)

    // The next one goes on in a segment with a dictionary of its own.
    try device.store.sync()
    #expect(try segments(device) == before + 1)
    try device.store.set("r100", ["n": 5])
    try device.store.sync()
    let content = try StoreContent(device.store)
    #expect(content.tables["a"] == ["first": ["n": 1], "new": ["n": 2]])
    #expect(content.tables["t"]?["r100"]?["n"] == 5 && content.tables["t"]?["r199"]?["n"] == 4)
    try device.reopen()
    #expect(try StoreContent(device.store).differences(from: content) == [])
    let peer = try StoreDevice(2)
    #expect(try peer.store.sync(packs: [device.store.pack()]).failures.isEmpty)
    #expect(try StoreContent(peer.store).differences(from: content) == [])
  }
}
