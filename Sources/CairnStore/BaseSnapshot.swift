import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge

/// A snapshot as the floor of a store: blocks are unpacked at first touch and kept up to a budget.
/// Not thread-safe: it lives inside the store's lock. `Block`s are immutable and may leave it.
struct BaseSnapshot {
  let number: UInt64
  let reader: SnapshotReader
  let description: SnapshotDescription
  /// Salt of each table's hashes, so that one index serves all tables.
  let salts: [UInt64]
  /// Numbers of the field names that its blocks use.
  var fields = FieldNumbers()
  /// The indexes over its rows that were built so far.
  var indexes: [IndexName: BaseIndex] = [:]
  /// The blocks that are in memory, in the order in which they came, and their numbers.
  private var kept: [Block] = []
  private var keptNumbers: [Int32] = []
  /// By block: its place in `kept` plus one, 0 if it is not there. Empty until one is kept: of a
  /// file that nobody has looked through only its header says how many there are.
  private(set) var places: [Int32] = []
  private var keptBytes = 0
  /// Of these, what was read in vain, since room was made last.
  private var vainBytes = 0
  private let budget: Int

  init(number: UInt64, reader: SnapshotReader, budget: Int) throws(StoreError) {
    self.number = number
    self.reader = reader
    self.budget = budget
    guard reader.blockCount <= Int(Int32.max) else {
      throw StoreError(
        LogError(.limit, reader.path, "\(reader.blockCount) blocks: no snapshot has that many"))
    }
    do {
      description = try SnapshotDescription(reader.description, blockCount: reader.blockCount)
    } catch {
      throw StoreError(
        LogError(error, reader.path, at: reader.header.descriptionOffset, "the description"))
    }
    salts = description.tables.map { BaseSnapshot.salt($0.name) }
    // Room is made for the rows of a table before they are read. The header's count fits the file.
    let rows = description.tables.reduce(0) { $0 + $1.rowCount }
    guard UInt64(rows) == reader.header.recordCount else {
      throw StoreError(
        LogError(
          .corrupt, reader.path, at: reader.header.descriptionOffset,
          "tables of \(rows) rows, and \(reader.header.recordCount) in the file"))
    }
  }

  static func salt(_ table: String) -> UInt64 { XXH3.hash64(table, seed: 1) }

  static func hash(_ name: RecordName, salt: UInt64) -> UInt64 {
    RecordName.mix(name.hash, salt)
  }

  func tableNumber(_ name: String) -> Int? {
    // They ascend by their bytes. An app may have thousands.
    let tables = description.tables
    let index = tables.partitionPoint { !$0.name.utf8.lexicographicallyPrecedes(name.utf8) }
    return index < tables.count && tables[index].name.isSameName(as: name) ? index : nil
  }

  /// The block and row of a record, nil if the snapshot has none of that id.
  mutating func find(_ name: RecordName, table: Int) throws(StoreError) -> RowPlace? {
    var probe = reader.probe(BaseSnapshot.hash(name, salt: salts[table]))
    do {
      while let (number, row) = try reader.next(&probe) {
        let place = place(of: number)
        let isFound =
          place > 0
          ? kept[place - 1].table == table && kept[place - 1].isRow(row, name)
          : try load(number, toFind: name, row, table: table)
        if isFound { return RowPlace(block: UInt32(number), row: UInt32(row)) }
      }
    } catch { throw StoreError(error) }
    return nil
  }

  mutating func block(_ number: Int) throws(StoreError) -> Block {
    do { return try loaded(number) } catch { throw StoreError(error) }
  }

  @inline(__always)
  private mutating func loaded(_ number: Int) throws(LogError) -> Block {
    let place = place(of: number)
    return place > 0 ? kept[place - 1] : try load(number)
  }

  @inline(__always)
  private func place(of number: Int) -> Int { number < places.count ? Int(places[number]) : 0 }

  private mutating func load(_ number: Int) throws(LogError) -> Block {
    let block = try BaseSnapshot.read(number, reader, &fields)
    keep(block, number)
    return block
  }

  /// Whether that row of a block that has to be read is the record. If it is another one's, whose
  /// hash is like it, the block was read in vain, and an eighth of the budget is for such blocks:
  /// loads of new records come by blocks anywhere, and not again.
  private mutating func load(
    _ number: Int, toFind name: RecordName, _ row: Int, table: Int
  ) throws(LogError) -> Bool {
    let block = try BaseSnapshot.read(number, reader, &fields)
    let isFound = block.table == table && block.isRow(row, name)
    if isFound {
      keep(block, number)
    } else if vainBytes + block.bytes.count <= budget / 8 {
      vainBytes += block.bytes.count
      keep(block, number)
    }
    return isFound
  }

  private mutating func keep(_ block: Block, _ number: Int) {
    if keptBytes + block.bytes.count > budget, !kept.isEmpty { makeRoom() }
    if places.isEmpty { places = Array(repeating: 0, count: reader.blockCount) }
    kept.append(block)
    keptNumbers.append(Int32(number))
    places[number] = Int32(kept.count)
    keptBytes += block.bytes.count
  }

  /// Whether all of it is unpacked in memory.
  var isWhole: Bool { kept.count == reader.blockCount }

  /// Unpacks blocks one after the other, up to the first for which the budget has no room. What is
  /// kept already stays.
  mutating func fill() throws(StoreError) {
    for number in 0..<reader.blockCount where place(of: number) == 0 && keptBytes < budget {
      let block = try readUnkept(number)
      if keptBytes + block.bytes.count > budget { return }
      keep(block, number)
    }
  }

  /// Drops the older half of what is kept: no bookkeeping on the read path.
  private mutating func makeRoom() {
    vainBytes = 0
    let half = kept.count / 2 + 1
    for place in 0..<half {
      keptBytes -= kept[place].bytes.count
      places[Int(keptNumbers[place])] = 0
    }
    kept.removeSubrange(..<half)
    keptNumbers.removeSubrange(..<half)
    for place in kept.indices { places[Int(keptNumbers[place])] = Int32(place + 1) }
  }

  /// Reads and checks a block without keeping it.
  static func read(
    _ number: Int, _ reader: SnapshotReader, _ fields: inout FieldNumbers
  ) throws(LogError) -> Block {
    let bytes = try reader.block(number)
    do { return try Block(bytes, numbers: &fields) } catch {
      throw LogError(error, reader.path, at: 0, "block \(number)")
    }
  }

  /// A block for one pass over everything: taken if it is there, not kept if it is not.
  mutating func readUnkept(_ number: Int) throws(StoreError) -> Block {
    let place = place(of: number)
    if place > 0 { return kept[place - 1] }
    do { return try BaseSnapshot.read(number, reader, &fields) } catch {
      throw StoreError(error)
    }
  }
}

/// Where a record is in a snapshot.
struct RowPlace: Equatable {
  var block: UInt32
  var row: UInt32

  static let none = RowPlace(block: .max, row: .max)
}
