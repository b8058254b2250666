/// Records on their way to the trash, as the bytes that its file has of them. Those that do not fit
/// are counted and not held: what goes at once may be many times what memory has room for.
struct RecordsToKeep {
  private let bytesMax: Int
  private(set) var content: [UInt8] = []
  /// How many are in it.
  private(set) var count = 0
  private(set) var notKept: UInt64 = 0

  /// So many bytes may their file have.
  init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// Those of their file, reckoned a little too many.
  var bytes: Int { 64 + content.count }

  var isEmpty: Bool { count == 0 && notKept == 0 }

  mutating func add(_ record: KeptRecord) {
    var encoded: [UInt8] = []
    DeletedFile.put(record, into: &encoded)
    guard bytes + encoded.count <= bytesMax else {
      notKept += 1
      return
    }
    content.append(contentsOf: encoded)
    count += 1
  }
}
