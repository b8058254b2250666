import CairnBytes
import CairnLog
import CairnMerge

/// Applies what can be read of a damaged segment to a state, as far as that is possible.
///
/// Deltas of a segment share a dictionary. If one of them is damaged but looks like what it was,
/// its names are used for those behind it and nothing else of it is; if not, those behind it are
/// read as far as they need no name that it may have given.
struct SegmentLoot {
  /// What becomes of content that the snapshot has, too: what of it is not published is found there
  /// unless something has covered it since.
  static let folded =
    "was folded into the snapshot, and only own deltas that were not published yet may be lost"

  let salvage: SegmentSalvage
  let path: String
  /// Its content is in the snapshot already.
  let isFolded: Bool
  /// Where opening would cut it off: no sync had covered what is behind.
  let tornFrom: Int?
  private(set) var losses: [SalvageLoss] = []
  private(set) var deltas = 0
  /// Packs of other devices' deltas as they came.
  private(set) var packs: [[UInt8]] = []
  /// What own deltas touch.
  private(set) var touched: [TouchedRecord] = []
  /// Names of the tables that are mentioned.
  private(set) var tables: Set<String> = []
  private var decoder = DeltaDecoder()
  private var slots: [UInt32] = []
  private var delta = Delta()

  init(_ salvage: SegmentSalvage, path: String, isFolded: Bool, tornFrom: Int?) {
    self.salvage = salvage
    self.path = path
    self.isFolded = isFolded
    self.tornFrom = tornFrom
  }

  mutating func run(into state: inout StoreState) throws(StoreError) {
    for part in salvage.parts {
      switch part {
      case .damage(let region): skip(region)
      case .frame(let frame):
        do throws(DecodeError) {
          let payload = try frame.payload(salvage.bytes)
          switch FrameKind(rawValue: frame.kind) {
          case .delta: try take(payload, frame, &state)
          case .pack: try takePacks(payload, &state)
          case .seal, nil: throw .newer("a frame of an unknown kind")
          }
        } catch {
          if case .newer = error {
            throw StoreError(LogError(error, path, at: UInt64(frame.offset), "a frame"))
          }
          lose(frame.offset, "delta \(frame.sequence) can't be read (\(error))")
          // A pack gives names to nobody else.
          if frame.kind == FrameKind.delta.rawValue { decoder.skipDamage() }
        }
      }
    }
  }

  private mutating func lose(_ offset: Int, _ message: String) {
    losses.append(SalvageLoss(path: path, offset: UInt64(offset), message: message))
  }

  private mutating func skip(_ region: Range<Int>) {
    guard !decoder.hasSkipped, let payload = salvage.suspect(region) else {
      let rest = isFolded ? SegmentLoot.folded : "is lost"
      lose(region, "\(region.count) bytes are damaged; what was in them \(rest)")
      decoder.skipDamage()
      return
    }
    var copy = decoder
    var reader = ByteReader(payload)
    let dot = Dot(
      device: DeviceID(rawValue: 0), sequence: salvage.suspectSequence(region))
    let rest = isFolded ? "damaged; it \(SegmentLoot.folded)" : "damaged and lost"
    do throws(DecodeError) {
      try copy.decode(&reader, dot: dot, into: &delta)
      guard reader.isAtEnd else { throw .malformed("bytes after a delta's end") }
    } catch {
      lose(region, "delta \(dot.sequence) is \(rest)")
      decoder.skipDamage()
      return
    }
    decoder = copy
    lose(
      region, "delta \(dot.sequence) is \(rest): it wrote "
        + describe(delta, decoder.records)
        + ". Names that it gave were used for the deltas behind it")
  }

  private mutating func lose(_ region: Range<Int>, _ message: String) {
    guard let tornFrom, region.lowerBound >= tornFrom else {
      lose(region.lowerBound, message)
      return
    }
    lose(
      region.lowerBound,
      "a torn tail of \(region.count) bytes that no sync had covered is left out")
  }

  /// What a delta touches, in words.
  private func describe(_ delta: Delta, _ names: [RecordName]) -> String {
    let shown = 5
    let parts = delta.sections.map { section in
      let ids = section.records.prefix(shown).map { index in
        names[Int(delta.records[index].reference)].text
      }
      let more = section.records.count > shown ? " and \(section.records.count - shown) more" : ""
      return "\(section.table): \(ids.joined(separator: " "))\(more)"
    }
    return parts.joined(separator: "; ")
  }

  private mutating func take(
    _ payload: [UInt8], _ frame: Frame, _ state: inout StoreState
  ) throws(DecodeError) {
    var reader = ByteReader(payload)
    let dot = Dot(device: DeviceID(rawValue: frame.device), sequence: frame.sequence)
    let mark = decoder.mark
    do throws(DecodeError) {
      try decoder.decode(&reader, dot: dot, into: &delta)
      guard reader.isAtEnd else { throw .malformed("bytes after a delta's end") }
    } catch {
      decoder.goBack(to: mark)
      throw error
    }
    for section in delta.sections { tables.insert(section.table) }
    let isThere = isFolded || state.vector.contains(dot)
    TouchedRecord.add(of: delta, names: decoder.records, isFolded: isThere, to: &touched)
    deltas += 1
    if isThere { return }
    noteGap(dot, frame.offset, state)
    state.seeAll(by: dot.device)
    apply(payload, frame.offset, to: &state)
  }

  /// Applies the delta as far as there is what it changes. An edit by position takes the edits
  /// before it for granted, so one that finds no list must not end those of other lists.
  private mutating func apply(_ heap: [UInt8], _ offset: Int, to state: inout StoreState) {
    var splices: [(table: String, column: Int, cell: Int)] = []
    for section in delta.sections {
      for column in section.columns where delta.columns[column].operation == .splice {
        let cells = delta.columns[column].cells
        for cell in cells { splices.append((section.table, column, cell)) }
        delta.columns[column].cells = cells.lowerBound..<cells.lowerBound
      }
    }
    applyPart(heap, offset, to: &state)
    for (table, column, cell) in splices {
      let record = Int(delta.rows[cell])
      // What else there is to say of it was said.
      delta.records[record].flags = 0
      delta.columns[column].cells = cell..<(cell + 1)
      delta.sections = [
        Delta.Section(
          table: table, records: record..<(record + 1), columns: column..<(column + 1))
      ]
      applyPart(heap, offset, to: &state)
    }
  }

  private mutating func applyPart(
    _ heap: [UInt8], _ offset: Int, to state: inout StoreState
  ) {
    do throws(StoreError) {
      try state.apply(delta, heap: heap, names: decoder.records, slots: &slots)
    } catch {
      let why = error.log?.detail ?? error.message
      lose(offset, "delta \(delta.dot.sequence) can't be applied wholly: \(why)")
    }
  }

  /// Deltas that are nowhere, between the last and this one.
  private mutating func noteGap(_ dot: Dot, _ offset: Int, _ state: StoreState) {
    let last = state.vector[dot.device]
    guard dot.sequence > last + 1, !state.vector.isEmpty else { return }
    lose(offset, "deltas \(last + 1) to \(dot.sequence - 1) of device \(dot.device) are not here")
  }

  private mutating func takePacks(
    _ payload: [UInt8], _ state: inout StoreState
  ) throws(DecodeError) {
    var reader = ByteReader(payload)
    for _ in 0..<(try reader.count(minimumSize: 8)) {
      let last = try reader.varint()
      let range = try reader.blob()
      packs.append(Array(payload[range]))
      var pack = try PackReader(payload, range)
      var packSlots: [UInt32] = []
      while pack.nextSequence <= last, try pack.next(into: &delta) {
        deltas += 1
        for section in delta.sections { tables.insert(section.table) }
        if isFolded || state.vector.contains(delta.dot) { continue }
        while packSlots.count < pack.records.count { packSlots.append(0) }
        do throws(StoreError) {
          try state.apply(delta, heap: pack.heap, names: pack.records, slots: &packSlots)
        } catch { throw .malformed("the snapshot below it can't be read") }
      }
    }
    guard reader.isAtEnd else { throw .malformed("bytes after the last pack") }
  }
}

extension SegmentLoot {
  /// Applies a pack of own deltas that were to be published, as far as it can be read and is not in
  /// the state; returns what they touch.
  static func takeOutbox(
    _ bytes: [UInt8], into state: inout StoreState
  ) throws(StoreError) -> [TouchedRecord] {
    var touched: [TouchedRecord] = []
    do {
      var pack = try PackReader(bytes)
      var delta = Delta()
      var slots: [UInt32] = []
      while try pack.next(into: &delta) {
        let isThere = state.vector.contains(delta.dot)
        TouchedRecord.add(of: delta, names: pack.records, isFolded: isThere, to: &touched)
        if isThere { continue }
        state.seeAll(by: delta.dot.device)
        while slots.count < pack.records.count { slots.append(0) }
        try state.apply(delta, heap: pack.heap, names: pack.records, slots: &slots)
      }
    } catch let error as StoreError {
      throw error
    } catch {
      // Its checksum was right; what could be read is taken.
    }
    return touched
  }
}
