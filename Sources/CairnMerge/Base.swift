/// A plain put that no other plain put has covered: what additions count from.
///
/// It outlives its `Entry` when additions cover that one, since they say only what they added.
package struct Base: Content {
  package var stamp: Stamp
  package var born: [Dot]
  package var value: FieldValue?
  /// What its author had seen of the additions, and so is part of the value already: at most one
  /// for each device, sorted by device.
  package var covered: [RunningTotal]

  package init(stamp: Stamp, born: [Dot], value: FieldValue?, covered: [RunningTotal]) {
    self.stamp = stamp
    self.born = born
    // Nothing is added to a list: which one it is makes no difference.
    if case .list = value { self.value = .list([]) } else { self.value = value }
    self.covered = covered
  }

  var isList: Bool { if case .list = value { true } else { false } }

  /// How much of a total the value contains.
  func contained(of total: Total) -> Number {
    covered.first { $0.device == total.device && $0.last >= total.since }?.total ?? .zero
  }
}
