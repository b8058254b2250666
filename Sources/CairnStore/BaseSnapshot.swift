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
  private var blocks: [Block?]
  private var kept: [Int] = []
  private var keptBytes = 0
  private let budget: Int

  init(number: UInt64, reader: SnapshotReader, budget: Int) throws(StoreError) {
    self.number = number
    self.reader = reader
    self.budget = budget
    do {
      description = try SnapshotDescription(reader.description, blockCount: reader.blockCount)
    } catch {
      throw StoreError(
        LogError(error, reader.path, at: reader.header.descriptionOffset, "the description"))
    }
    salts = description.tables.map { BaseSnapshot.salt($0.name) }
    blocks = Array(repeating: nil, count: reader.blockCount)
  }

  static func salt(_ table: String) -> UInt64 { XXH3.hash64(table, seed: 1) }

  static func hash(_ name: RecordName, salt: UInt64) -> UInt64 {
    RecordName.mix(name.hash, salt)
  }

  func tableNumber(_ name: String) -> Int? {
    description.tables.firstIndex { $0.name == name }
  }

  /// The block and row of a record, nil if the snapshot has none of that id.
  mutating func find(_ name: RecordName, table: Int) throws(StoreError) -> RowPlace? {
    var probe = reader.probe(BaseSnapshot.hash(name, salt: salts[table]))
    do {
      while let (number, row) = try reader.next(&probe) {
        let block = try loaded(number)
        if block.table == table, block.isRow(row, name) {
          return RowPlace(block: UInt32(number), row: UInt32(row))
        }
      }
    } catch { throw StoreError(error) }
    return nil
  }

  mutating func block(_ number: Int) throws(StoreError) -> Block {
    do { return try loaded(number) } catch { throw StoreError(error) }
  }

  @inline(__always)
  private mutating func loaded(_ number: Int) throws(LogError) -> Block {
    if let block = blocks[number] { return block }
    return try load(number)
  }

  private mutating func load(_ number: Int) throws(LogError) -> Block {
    let block = try BaseSnapshot.read(number, reader, &fields)
    if keptBytes + block.bytes.count > budget, !kept.isEmpty { makeRoom() }
    keep(block, number)
    return block
  }

  private mutating func keep(_ block: Block, _ number: Int) {
    blocks[number] = block
    kept.append(number)
    keptBytes += block.bytes.count
  }

  /// Whether all of it is unpacked in memory.
  var isWhole: Bool { kept.count == blocks.count }

  /// Unpacks blocks one after the other, up to the first for which the budget has no room. What is
  /// kept already stays.
  mutating func fill() throws(StoreError) {
    for number in blocks.indices where blocks[number] == nil && keptBytes < budget {
      let block = try readUnkept(number)
      if keptBytes + block.bytes.count > budget { return }
      keep(block, number)
    }
  }

  /// Drops the older half of what is kept: no bookkeeping on the read path.
  private mutating func makeRoom() {
    let half = kept.count / 2 + 1
    for number in kept[..<half] {
      keptBytes -= blocks[number]?.bytes.count ?? 0
      blocks[number] = nil
    }
    kept.removeSubrange(..<half)
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
    if let block = blocks[number] { return block }
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
