/// The causal state of one field.
///
/// Three sets of writes, told apart by what takes a write out of them: any later write that has
/// seen it (`entries`), a later plain put that has seen it (`bases`), or such a put or the same
/// device's next addition (`totals`). Rules read them and never change them.
package struct Register: Hashable, Sendable {
  /// The surviving writes in commit order.
  package var entries: [Entry]
  /// The plain puts that additions count from, in commit order.
  package var bases: [Base]
  /// What each device has added, at most one each, sorted by device.
  package var totals: [Total]
  /// The lists among the entries that were edited, in their order; last the one that was created,
  /// which all `isCreated` entries are the roots of.
  package var lists: [ListState] = []

  package init(
    entries: [Entry] = [], bases: [Base] = [], totals: [Total] = [], lists: [ListState] = []
  ) {
    self.entries = entries
    self.bases = bases
    self.totals = totals
    self.lists = lists
  }

  /// A field with one writer and no additions.
  package init(
    _ value: FieldValue?, stamp: Stamp = .settled, born: [Dot] = [], isCreated: Bool = false
  ) {
    self.init(
      entries: [
        Entry(stamp: stamp, born: born, value: value, isAdd: false, isCreated: isCreated)
      ],
      bases: [Base(stamp: stamp, born: born, value: value, covered: [])])
  }

  package var isEmpty: Bool { entries.isEmpty && bases.isEmpty && totals.isEmpty }

  /// The one write that is all there is to know, if `init(_:stamp:born:)` would make this register
  /// from it: no conflict, no additions.
  package var only: Entry? {
    guard entries.count == 1, totals.isEmpty, lists.isEmpty, let entry = entries.first,
      !entry.isAdd,
      self
        == Register(
          entry.value, stamp: entry.stamp, born: entry.born, isCreated: entry.isCreated)
    else { return nil }
    return entry
  }
}
