import CairnMerge
import CairnStore
import TestSupport
import Testing

/// What packs would delete, found out without doing it.
struct DeletePreviewTests {
  private func gone(_ preview: DeletePreview) throws -> [DeviceID: Int] {
    var preview = preview
    return try preview.gone()
  }

  /// A device, and what two others make of its records: one is deleted by both, one is put back,
  /// and one has gone here already.
  private func sample() throws -> (a: StoreDevice, b: StoreDevice, c: StoreDevice) {
    let devices = try (1...3 as ClosedRange<UInt64>).map { try StoreDevice($0) }
    let (a, b, c) = (devices[0], devices[1], devices[2])
    for id in ["both", "back", "here", "one", "stays"] { try a.store.insert(id, ["n": 1]) }
    try a.store.sync()
    let first = try a.store.pack()
    for device in [b, c] { try device.store.sync(packs: [first]) }
    for id in ["both", "back", "here"] { try b.store.delete(id) }
    try b.store.sync()
    try b.store.insert("back", ["n": 2])
    try b.store.sync()
    for id in ["both", "one"] { try c.store.delete(id) }
    try c.store.sync()
    try a.store.delete("here")
    try a.store.insert("pending", ["n": 3])
    return (a, b, c)
  }

  @Test func `it counts each record that would be gone once, and changes nothing`() throws {
    let (a, b, c) = try sample()
    let packs = [try b.store.pack(), try c.store.pack()]
    let (content, vector) = (try StoreContent(a.store), a.store.vector)
    let (bytes, steps) = (a.disk.fingerprint(), a.disk.operations)
    a.store.watch(true, records: true)
    var preview = try a.store.deletePreview()
    // What can't be read is left out.
    let isAny = try preview.apply([packs[0], [1, 2, 3], packs[1]])
    #expect(isAny)
    #expect(try gone(preview) == [b.id: 1, c.id: 1])
    let isMore = try preview.apply(packs)
    #expect(!isMore, "it is there already")
    #expect(try gone(preview) == [b.id: 1, c.id: 1])
    #expect(try StoreContent(a.store).differences(from: content) == [])
    #expect(a.store.vector == vector && a.store.takeChanges(remote: true).isEmpty)
    #expect(a.disk.operations == steps && a.disk.fingerprint() == bytes)
    // As it comes when it is done.
    try a.store.sync(packs: packs)
    #expect(try a.store.query(table: "t", []).map(\.text).sorted() == ["back", "pending", "stays"])
  }

  /// Somebody goes on writing while a mass delete is looked at.
  @Test(arguments: [false, true], [false, true])
  func `what is pending has no stamp to be judged by`(isDeleted: Bool, isFolded: Bool) throws {
    let (a, b) = (try StoreDevice(1), try StoreDevice(2))
    try a.store.insert("r", ["n": 1])
    try a.store.sync()
    try b.store.sync(packs: [try a.store.pack()])
    if isDeleted { try b.store.delete("r") } else { try b.store.set("r", ["n": 3]) }
    try b.store.sync()
    if isFolded { _ = try a.store.compact() }
    try a.store.set("r", ["n": 2])
    try a.store.setRule(.max, table: "t", field: "n")
    var preview = try a.store.deletePreview()
    let isAny = try preview.apply([try b.store.pack()])
    #expect(isAny)
    #expect(try gone(preview) == (isDeleted ? [b.id: 1] : [:]))
    #expect(try a.store.get("r") == ["n": 2])
    try a.store.sync(packs: [try b.store.pack()])
    #expect(try a.store.get("r") == (isDeleted ? nil : ["n": 3]))
  }

  /// The second half may come later, and what was asked before goes on from there.
  @Test func `what waits for another pack counts when that has come`() throws {
    let (a, b, c) = try sample()
    try c.store.sync(packs: [try b.store.pack()])
    // It has seen both.
    try c.store.delete("stays")
    try c.store.sync()
    let (later, between) = (try c.store.pack(), try b.store.pack())
    var preview = try a.store.deletePreview()
    for (pack, count) in [(later, 2), (between, 2), (later, 3)] {
      let isAny = try preview.apply([pack])
      #expect(isAny)
      #expect(try gone(preview) == [c.id: count])
    }
  }
}
