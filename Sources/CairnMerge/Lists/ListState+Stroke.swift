import CairnBytes

/// Pending edits that are one stroke, as somebody makes them who commits each letter: a way from
/// there to a delta, and to a committed edit, on which nothing is allocated. It says and leaves
/// what `collect` and `commit` would.
extension ListState {
  /// What the pending edits do, if that is one stroke; nil for everything else.
  package mutating func stroke() -> ListStroke? {
    guard pending.isActive, let (slot, isRemoval, _) = onlyChange() else { return nil }
    var stroke = ListStroke(slot: slot, isRemoval: isRemoval)
    if isPlain || isRemoval { return stroke }
    (stroke.node, stroke.side) = hook(of: slot, slot)
    // Not seen as a place by whoever applies it.
    if stroke.side == .left, parents[Int(stroke.node)] == ListState.rootParent { return nil }
    return stroke
  }

  /// Appends what a delta says of a stroke that is still pending, by the name of its node; in a
  /// list without names, by how many items come before it. False if the value of an item that it
  /// puts in is missing.
  @inline(__always)
  func encode(
    _ stroke: ListStroke, _ id: NodeID, dot: Dot, into out: inout OutputSpan<UInt8>
  ) -> Bool {
    if isPlain {
      ListSplicesCoding.encode(stroke, rope.visibleIndex(of: stroke.slot), into: &out)
    } else {
      ListEditCoding.encode(stroke, id, dot: dot, into: &out)
    }
    return stroke.isRemoval || items.encodeLetter(Int(stroke.slot), into: &out)
  }

  /// Appends that value.
  func encodeValue(of stroke: ListStroke, into out: inout [UInt8]) {
    if stroke.isRemoval { return }
    let slot = Int(stroke.slot)
    ColumnCoding.encode(
      items.tags, items.words, slot..<slot + 1, time: 0, heap: items.heap, into: &out)
  }

  /// The stroke is committed under this stamp.
  package mutating func commit(_ stroke: ListStroke, stamp: Stamp) {
    if isPlain { return commitPlain() }
    if stroke.isRemoval {
      forgetHistory(of: stroke.slot)
    } else {
      let slots = stroke.slot..<stroke.slot + 1
      authors.append(first: slots.lowerBound, stamp)
      attach(slots, to: stroke.node, stroke.side, stamp: stamp, isPlaced: true)
    }
    pending.end()
  }
}
