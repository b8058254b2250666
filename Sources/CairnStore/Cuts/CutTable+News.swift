import CairnBytes
import CairnMerge

extension CutTable {
  /// What a delta says of cuts. A cut is in the delta that it is named after, and only its own
  /// device seals it: who says anything else has not written this with an app of ours.
  struct News {
    /// A cut that is sealed, and what the delta says that its author had seen.
    struct Seal {
      var dot: Dot
      var context: VersionVector
    }

    /// The cut that the delta is.
    var cut: Cut?
    /// Cuts that it seals, itself among them.
    var seals: [Seal] = []
    /// Cuts whose records it deletes.
    var deleted: [Dot] = []
    /// Names that devices have left: nothing more is said or written under them.
    var left: Set<DeviceID> = []
    /// What can't be read of it, or can't be.
    var failure: DecodeError?

    init(_ delta: Delta, heap: [UInt8], names: [RecordName]) {
      for section in delta.sections where section.table == CutTable.name {
        for record in delta.records[section.records]
        where record.flags & Delta.Flags.delete != 0 {
          if let dot = CutTable.dot(names[Int(record.reference)]) { deleted.append(dot) }
        }
        for column in delta.columns[section.columns] {
          for cell in column.cells {
            let record = names[Int(delta.records[Int(delta.rows[cell])].reference)]
            if column.field == CutTable.successor {
              readSuccessor(cell, of: record, delta, heap)
            }
            do throws(DecodeError) {
              try read(cell, column, of: record, delta, heap)
            } catch { failure = error }
          }
        }
      }
      guard let seal = seals.first(where: { $0.dot == delta.dot }) else { return }
      if cut?.members != [delta.dot.device] {
        failure = .malformed("a cut that is sealed before its members can have it")
      }
      cut?.seal = seal.context
    }

    private mutating func readSuccessor(
      _ cell: Int, of record: RecordName, _ delta: Delta, _ heap: [UInt8]
    ) {
      guard let device = CutTable.retired(record),
        case .bytes(let bytes) = News.value(cell, delta, heap)
      else { return }
      // What can't be read says nothing, as in a record.
      if CutTable.decoded({ () throws(DecodeError) in try EarlierName(device, bytes) }) != nil {
        left.insert(device)
      }
    }

    private mutating func read(
      _ cell: Int, _ column: Delta.Column, of record: RecordName, _ delta: Delta, _ heap: [UInt8]
    ) throws(DecodeError) {
      guard column.field == CutTable.cut || column.field == CutTable.seal,
        let dot = CutTable.dot(record)
      else { return }
      guard column.operation == .put || column.operation == .putCovering,
        case .bytes(let bytes) = News.value(cell, delta, heap)
      else { throw .malformed("a cut that is no bytes") }
      if column.field == CutTable.cut {
        guard dot == delta.dot, cut == nil else { throw .malformed("a cut of another delta") }
        cut = try Cut(dot, bytes)
      } else {
        guard dot.device == delta.dot.device, dot.sequence <= delta.dot.sequence,
          !seals.contains(where: { $0.dot == dot })
        else {
          throw .malformed("a seal of another device's cut")
        }
        seals.append(Seal(dot: dot, context: try VersionVector(bytes: bytes)))
      }
    }

    private static func value(_ cell: Int, _ delta: Delta, _ heap: [UInt8]) -> FieldValue? {
      Cell(tag: delta.tags[cell], word: delta.words[cell]).value(heap)
    }
  }
}
