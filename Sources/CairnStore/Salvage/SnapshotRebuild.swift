import CairnBytes
import CairnDisk
import CairnLog
import CairnMerge

/// Makes a whole snapshot of the blocks of a damaged one that can still be read.
struct SnapshotRebuild {
  let salvage: SnapshotSalvage
  let datastore: UInt128
  /// Tables that are known from elsewhere: names for blocks when the description is lost.
  let candidates: [String]
  private(set) var losses: [SalvageLoss] = []
  private(set) var rows = 0
  /// Tables that got a name because their own is lost.
  private(set) var unnamed: Set<String> = []
  /// The rebuilt snapshot's; its vector is empty if the original's is lost.
  private(set) var description = SnapshotDescription()
  private var old: SnapshotDescription?
  private var fields = FieldNumbers()
  private var parts: [Int: [Part]] = [:]

  private struct Part {
    var place: SnapshotSalvage.Place
    var rowCount: Int
    var first: RecordName
    var last: RecordName
    /// Rows by which the table is recognised, if it has to be.
    var samples: [(row: Int, id: RecordName)] = []
  }

  /// Rows of a block: pages of the index may be damaged, and each page has some of them.
  private static let samples = 16

  init(_ salvage: SnapshotSalvage, datastore: UInt128, candidates: [String]) {
    self.salvage = salvage
    self.datastore = datastore
    self.candidates = candidates
    if let bytes = salvage.description {
      // Without it tables have to be recognised.
      old = try? SnapshotDescription(bytes, blockCount: salvage.blockCount)
    }
    if old == nil {
      losses.append(
        SalvageLoss(
          path: salvage.path, offset: salvage.header?.descriptionOffset,
          message: "the description of the snapshot is lost: tables are recognised by their "
            + "records where that is possible"))
    }
  }

  /// Whether the description was read, and with it which deltas are in the snapshot.
  var hasVector: Bool { old != nil }

  /// Writes the file.
  mutating func write(
    _ path: String, disk: any Disk, spill: SpillPlace
  ) throws(StoreError) {
    for place in salvage.blocks { look(at: place) }
    let names = tableNames()
    for name in unnamed.sorted() {
      losses.append(
        SalvageLoss(
          path: salvage.path, offset: nil,
          message: "the name of a table is lost: its records are in table \(name)"))
    }
    let order = parts.keys.sorted { (names[$0] ?? "") < (names[$1] ?? "") }
    let file: any DiskFile
    do { file = try disk.open(path, .create) } catch { throw StoreError(LogError(error)) }
    let writer = SnapshotWriter(file: file, datastore: datastore, spill: spill)
    defer {
      file.close()
      writer.discard()
    }
    if let old {
      description.vector = old.vector
      description.fence = old.fence
      description.contexts = old.contexts
      description.modified = old.modified
    }
    for number in order {
      let name = names[number] ?? ""
      let firstBlock = writer.blockCount
      var count = 0
      for part in parts[number] ?? [] { count += try add(part, name, writer) }
      rows += count
      description.tables.append(
        SnapshotDescription.Table(
          name: name, firstBlock: firstBlock, blockCount: writer.blockCount - firstBlock,
          rowCount: count))
    }
    description.recordCount = rows
    do throws(LogError) {
      _ = try writer.finish(description: description.encoded(), floor: description.floor)
    } catch {
      throw StoreError(error)
    }
    noteLost()
  }

  private mutating func look(at place: SnapshotSalvage.Place) {
    guard let bytes = salvage.content(place) else {
      losses.append(
        SalvageLoss(
          path: salvage.path, offset: place.offset,
          message: "block \(place.number) does not unpack"))
      return
    }
    do throws(DecodeError) {
      let block = try Block(bytes, numbers: &fields)
      var part = Part(
        place: place, rowCount: block.rowCount, first: block.name(0),
        last: block.name(block.rowCount - 1))
      if old == nil {
        let step = max(1, block.rowCount / SnapshotRebuild.samples)
        for row in stride(from: 0, to: block.rowCount, by: step) {
          part.samples.append((row: row, id: block.name(row)))
        }
      }
      parts[block.table, default: []].append(part)
    } catch {
      losses.append(
        SalvageLoss(
          path: salvage.path, offset: place.offset,
          message: "block \(place.number) is damaged inside (\(error))"))
    }
  }

  /// The block under the table's new number.
  private mutating func add(
    _ part: Part, _ table: String, _ writer: SnapshotWriter
  ) throws(StoreError) -> Int {
    guard let bytes = salvage.content(part.place) else { return 0 }
    do {
      let block = try Block(bytes, numbers: &fields)
      var reader = ByteReader(bytes)
      _ = try reader.varint()
      var raw: [UInt8] = []
      raw.putVarint(description.tables.count)
      raw.put(bytes, reader.offset..<bytes.count)
      let salt = BaseSnapshot.salt(table)
      try writer.add(
        block: raw,
        hashes: (0..<block.rowCount).map { BaseSnapshot.hash(block.name($0), salt: salt) })
      return block.rowCount
    } catch let error as LogError {
      throw StoreError(error)
    } catch { return 0 }
  }

  // MARK: tables

  private mutating func tableNames() -> [Int: String] {
    var names: [Int: String] = [:]
    var found: [String: [Int]] = [:]
    for number in parts.keys {
      if let old, number < old.tables.count {
        names[number] = old.tables[number].name
      } else if let name = recognised(number) {
        found[name, default: []].append(number)
      }
    }
    var taken = Set(names.values)
    // Of two tables that seem to be one, nothing tells which it is.
    for (name, numbers) in found where numbers.count == 1 && !taken.contains(name) {
      names[numbers[0]] = name
    }
    taken.formUnion(names.values)
    taken.formUnion(candidates)
    for number in parts.keys.sorted() where names[number] == nil {
      let name = newName(number, taken)
      taken.insert(name)
      unnamed.insert(name)
      names[number] = name
    }
    return names
  }

  /// A name that no other table has. An earlier repair may have given the plain one.
  private func newName(_ number: Int, _ taken: Set<String>) -> String {
    let plain = "recovered-\(number)"
    var (name, next) = (plain, 1)
    while taken.contains(name) {
      name = "\(plain)-\(next)"
      next += 1
    }
    return name
  }

  /// The table under whose name the index has the records of a block.
  private func recognised(_ number: Int) -> String? {
    var left = candidates
    for part in parts[number] ?? [] {
      for (row, id) in part.samples {
        var (found, unsure): ([String], [String]) = ([], [])
        for name in left {
          let hash = BaseSnapshot.hash(id, salt: BaseSnapshot.salt(name))
          switch salvage.isIndexed(hash, block: part.place.number, row: row) {
          case .some(true): found.append(name)
          case .some(false): break
          // The page is damaged: another row tells.
          case .none: unsure.append(name)
          }
        }
        // Of the others nobody knows, but a match is of a hash and a place.
        if !found.isEmpty { return found.count == 1 ? found[0] : nil }
        if unsure.isEmpty { return nil }
        left = unsure
      }
    }
    return nil
  }

  // MARK: what is lost

  private mutating func noteLost() {
    for gap in salvage.lost {
      losses.append(
        SalvageLoss(path: salvage.path, offset: gap.range.lowerBound, message: message(gap)))
    }
    guard let old else { return }
    for (number, table) in old.tables.enumerated() {
      let kept = (parts[number] ?? []).reduce(0) { $0 + $1.rowCount }
      if kept < table.rowCount {
        losses.append(
          SalvageLoss(
            path: salvage.path, offset: nil,
            message: "\(table.rowCount - kept) of \(table.rowCount) records of table \(table.name) "
              + "that were in the snapshot are lost there"))
      }
    }
  }

  private func message(_ gap: SnapshotSalvage.Gap) -> String {
    let number = gap.number
    guard let count = gap.count else {
      return "behind \(number) blocks nothing can be read, and the header, which tells how many "
        + "there were, is damaged; the records of any others are lost"
    }
    if count > 1 {
      return "blocks \(number) to \(number + count - 1) can't be found; their records are lost"
    }
    var message = "block \(number) is damaged"
    if let old, let table = old.tables.firstIndex(where: { table in
      (table.firstBlock..<(table.firstBlock + table.blockCount)).contains(number)
    }) {
      message += ": records of table \(old.tables[table].name)"
      message += between(number, parts[table] ?? [])
    }
    return message + " are lost"
  }

  /// The ids around a lost block: those in it lie between them.
  private func between(_ number: Int, _ parts: [Part]) -> String {
    let before = parts.last { $0.place.number < number }.map { " behind \($0.last.text)" } ?? ""
    let after = parts.first { $0.place.number > number }.map { " before \($0.first.text)" } ?? ""
    return before + (before.isEmpty || after.isEmpty ? "" : " and") + after
  }
}
