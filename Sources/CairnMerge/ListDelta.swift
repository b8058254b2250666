/// A delta that changes one list, of a record that its scope knows, and nothing else: what somebody
/// types who commits each letter. To take it apart into the columns of a `Delta` would take longer
/// than all that is done with it.
package struct ListDelta: Sendable {
  package var dot = Dot(device: DeviceID(rawValue: 0), sequence: 0)
  /// Like this and the next, as in `Delta`.
  package var time: Int64 = 0
  package var dependencies: [Dot] = []
  package var table = ""
  package var field = ""
  /// Index in the scope's dictionary of records.
  package var reference: UInt32 = 0
  /// Whether it says what is done by position, in `splices`, and not by name, in `edit`.
  package var isSpliced = false
  package var edit = ListEdit()
  package var splices = ListSplices()

  package init() {}

  /// Empties what takes more memory than is worth keeping for the next one.
  package mutating func giveBack() {
    if !edit.takesLittle { edit = ListEdit() }
    if !splices.takesLittle { splices = ListSplices() }
  }
}
