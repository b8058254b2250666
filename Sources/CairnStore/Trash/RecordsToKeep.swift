/// Records on their way to the trash, as the bytes that its files have of them. Those that do not
/// fit are counted and not held: what goes at once may be many times what memory has room for.
struct RecordsToKeep {
  /// The records of one file.
  struct Part {
    fileprivate(set) var content: [UInt8] = []
    fileprivate(set) var count = 0
  }

  private let bytesMax: Int
  private let partMax: Int
  private(set) var parts: [Part] = []
  private(set) var notKept: UInt64 = 0
  private var sum = 0

  /// So many bytes may their files have.
  init(bytesMax: Int) {
    self.bytesMax = bytesMax
    // The oldest file goes as a whole when there has to be room for a new one.
    partMax = max(bytesMax / 16, RecordsToKeep.partMin)
  }

  private static let partMin = 64 << 10
  /// What a file has besides its records, at most.
  private static let besides = 64

  /// Those of their files, reckoned a little too many.
  var bytes: Int { max(sum, RecordsToKeep.besides) }

  /// How many are in it.
  var count: Int { parts.reduce(0) { $0 + $1.count } }

  var isEmpty: Bool { parts.isEmpty && notKept == 0 }

  mutating func add(_ record: KeptRecord) {
    var encoded: [UInt8] = []
    DeletedFile.put(record, into: &encoded)
    let place = parts.count - 1
    let isNew =
      place < 0
      || RecordsToKeep.besides + parts[place].content.count + encoded.count > partMax
    let more = encoded.count + (isNew ? RecordsToKeep.besides : 0)
    guard sum + more <= bytesMax else {
      notKept += 1
      return
    }
    sum += more
    if isNew { parts.append(Part()) }
    parts[parts.count - 1].content.append(contentsOf: encoded)
    parts[parts.count - 1].count += 1
  }
}
