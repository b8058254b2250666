internal import CairnMerge

/// What becomes of a pending change of a field when others have changed the field, too: the same as
/// if they had committed first and this device then, without having seen it.
struct ThreeWay: Equatable {
  /// What the field is to be.
  var value: FieldValue?
  /// Whether that is still to be uploaded.
  var isPending: Bool
  /// Whether both sides have changed the field, differently.
  var isConflict = false

  /// - Parameter isWhole: Its list makes sense as a whole only: no items of both.
  init(
    original: FieldValue?, remote: FieldValue?, pending: FieldValue?, rule: Rule,
    isSet: Bool = false, isWhole: Bool = false
  ) {
    if pending == original || pending == remote && rule != .sum {
      // This device has taken its change back, or both did the same; of sums both count.
      (value, isPending) = (remote, false)
      return
    }
    if remote == original {
      (value, isPending) = (pending, true)
      return
    }
    isConflict = pending != remote
    value = ThreeWay.decide(original, remote, pending, rule, isSet: isSet, isWhole: isWhole)
    isPending = value != remote
  }

  private static func decide(
    _ original: FieldValue?, _ remote: FieldValue?, _ pending: FieldValue?, _ rule: Rule,
    isSet: Bool, isWhole: Bool
  ) -> FieldValue? {
    if !isWhole, case .list(let theirs)? = remote, case .list(let ours)? = pending,
      let merged = lists(original, theirs, ours, isSet: isSet)
    {
      return .list(merged)
    }
    switch rule {
    case .remote: return remote
    case .local: return pending
    // Ties go to what was there.
    case .max: return FieldValue.ordered(pending, remote) > 0 ? pending : remote
    case .min: return FieldValue.ordered(pending, remote) < 0 ? pending : remote
    case .sum: return sum(original, remote, pending) ?? remote
    }
  }

  /// The difference that this device made, on top of what others have made of it.
  private static func sum(
    _ original: FieldValue?, _ remote: FieldValue?, _ pending: FieldValue?
  ) -> FieldValue? {
    guard let theirs = remote.flatMap(Number.init), let ours = pending.flatMap(Number.init),
      let before = original == nil ? .zero : original.flatMap(Number.init)
    else { return nil }
    let sum = theirs.adding(ours.subtracting(before))
    return sum.isFinite ? sum.value : nil
  }

  /// Longer lists are not searched for what stays: that takes memory by the square.
  private static let longestSearched = 4096

  private static func lists(
    _ original: FieldValue?, _ theirs: [FieldValue], _ ours: [FieldValue], isSet: Bool
  ) -> [FieldValue]? {
    let before: [FieldValue]
    switch original {
    case nil: before = []
    case .list(let items)?: before = items
    default: return nil
    }
    if isSet { return sets(before, theirs, ours) }
    guard before.count + max(theirs.count, ours.count) <= longestSearched else { return nil }
    let (a, b) = (ListSide(from: before, to: theirs), ListSide(from: before, to: ours))
    var result = a.inserted[0] + b.inserted[0]
    for index in before.indices {
      if a.stays[index], b.stays[index] { result.append(before[index]) }
      result += a.inserted[index + 1] + b.inserted[index + 1]
    }
    return result
  }

  /// What is not in it any more goes, what is new comes to the end.
  private static func sets(
    _ before: [FieldValue], _ theirs: [FieldValue], _ ours: [FieldValue]
  ) -> [FieldValue] {
    let (old, mine) = (Set(before), Set(ours))
    var result = theirs.filter { mine.contains($0) || !old.contains($0) }
    var there = Set(result)
    for item in ours where !old.contains(item) && there.insert(item).inserted {
      result.append(item)
    }
    return result
  }
}

/// What one side has done to a list: which items it has left, and what it put behind each; at 0
/// what it put before all.
private struct ListSide {
  var stays: [Bool]
  var inserted: [[FieldValue]]

  init(from old: [FieldValue], to new: [FieldValue]) {
    stays = Array(repeating: true, count: old.count)
    inserted = Array(repeating: [], count: old.count + 1)
    var isNew = Array(repeating: false, count: new.count)
    for change in new.difference(from: old) {
      switch change {
      case .remove(let offset, _, _): stays[offset] = false
      case .insert(let offset, _, _): isNew[offset] = true
      }
    }
    var behind = 0
    for (offset, item) in new.enumerated() {
      if isNew[offset] {
        inserted[behind].append(item)
      } else {
        // The next of those that stayed.
        while behind < old.count, !stays[behind] { behind += 1 }
        behind += 1
      }
    }
  }
}
