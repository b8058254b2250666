internal import CairnMerge

/// The result of a live query at one moment, and how it came from the one before.
public struct LiveUpdate: Sendable {
  /// One step from the last result to this one. The steps are to be taken one after the other:
  /// each index is one of the list as the steps before have left it.
  ///
  /// They come in this order: removals from the back (so their indices are also those in the last
  /// result), moves, insertions from the front (their indices are also those in this result), and
  /// updates (by their indices in this result).
  @nonexhaustive
  public enum Change: Hashable, Sendable {
    /// The record is not in the result any more.
    case removed(Record, from: Int)
    /// The record is elsewhere: to be taken out at `from`, then put in so that it is at `to`.
    case moved(Record, from: Int, to: Int)
    /// The record is new in the result.
    case inserted(Record, at: Int)
    /// The record was in the result, still is (perhaps elsewhere), and was changed. It may have
    /// got the values that it had.
    case updated(Record, at: Int)
  }

  /// The steps from the last result; from an empty one, in the first update.
  public let changes: [Change]
  private let table: Table
  private let names: [RecordName]

  init(_ table: Table, _ names: [RecordName], _ steps: [ListDiff<RecordName>.Step]) {
    self.table = table
    self.names = names
    changes = steps.map { step in
      switch step {
      case .removed(let name, let index): .removed(table[RecordID(name)], from: index)
      case .moved(let name, let from, let to):
        .moved(table[RecordID(name)], from: from, to: to)
      case .inserted(let name, let index): .inserted(table[RecordID(name)], at: index)
      case .touched(let name, let index): .updated(table[RecordID(name)], at: index)
      }
    }
  }

  /// How many records the result has.
  public var count: Int { names.count }

  /// The record at a place in the result; nil if there is no such place.
  public subscript(index: Int) -> Record? {
    names.indices.contains(index) ? table[RecordID(names[index])] : nil
  }

  /// The result, in the query's order. Made anew each time: some nanoseconds a record.
  public var records: [Record] { names.map { table[RecordID($0)] } }
}
