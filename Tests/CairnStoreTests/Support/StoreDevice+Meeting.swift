import CairnStore
import Testing

extension StoreDevice {
  /// All others, who had a first pack of this one, and a new device come to the same as this one,
  /// to the byte; and so does this one, opened again.
  func expectSame(as others: [StoreDevice], and new: StoreDevice, after published: [UInt8]) throws {
    let content = try StoreContent(store)
    _ = try store.compact()
    for device in others + [new] {
      var packs = [published]
      for other in others where other !== device { packs.append(try other.store.pack()) }
      try device.store.sync(packs: packs + [try store.pack()])
      #expect(device.store.vector == store.vector)
      #expect(try StoreContent(device.store).differences(from: content) == [])
      _ = try device.store.compact()
      #expect(device.snapshotBytes() == snapshotBytes())
    }
    try reopen()
    #expect(try StoreContent(store).differences(from: content) == [])
  }
}
