/// Packs that one step of a sync takes. They become one frame of the log, which has room for the
/// largest pack that there can be, or for some that have `Exchange.batchBytes` together; for both
/// it has none.
struct PackBatch {
  private(set) var packs: [[UInt8]] = []
  private(set) var items: [Inbox.Item] = []
  private var bytes = 0

  /// Whether a pack of so many bytes may be added.
  func hasRoom(for count: Int) -> Bool { packs.isEmpty || bytes + count <= Exchange.batchBytes }

  mutating func add(_ pack: [UInt8], _ item: Inbox.Item) {
    packs.append(pack)
    items.append(item)
    bytes += pack.count
  }
}
