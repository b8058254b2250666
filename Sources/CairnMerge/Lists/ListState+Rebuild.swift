import CairnBytes

extension ListState {
  /// A state that is being read.
  init(isCreated: Bool, rope: Rope, parents: [UInt32], roots: [UInt32]) {
    self.isCreated = isCreated
    isPlain = false
    self.rope = rope
    self.parents = parents
    self.roots = roots
  }

  /// Finds the children of all nodes from their parents.
  mutating func fillChildren() {
    for slot in parents.indices {
      let key = parents[slot]
      let inChain = (UInt32(truncatingIfNeeded: slot) &- 1) << 1
      if key == ListState.rootParent || key == inChain { continue }
      children[key, default: []].append(UInt32(slot))
    }
    for (key, siblings) in children where siblings.count > 1 {
      children[key] = siblings.sorted { authors.stamp(of: $0) < authors.stamp(of: $1) }
    }
  }

  /// Writes down at every place that an item was moved to, also one that does not count now, which
  /// item that is.
  mutating func markPlaces() {
    for (item, survivors) in moves {
      for move in survivors where move.node != ListState.lost {
        items.set(Int(move.node), Cell(tag: ListItems.place, word: UInt64(item)))
      }
    }
  }

  /// The values of the roots if nothing but putting or creating them ever happened to them.
  package var untouched: [(dot: Dot, values: [FieldValue])]? {
    guard moves.isEmpty, replaced.isEmpty, !hasPending else { return nil }
    var result: [(dot: Dot, values: [FieldValue])] = []
    var isUntouched = true
    let roots = Set(roots)
    rope.forEachRun { slots, isVisible in
      for slot in slots where isUntouched {
        if roots.contains(slot) {
          result.append((authors.stamp(of: slot).dot, []))
        } else if isVisible, let last = result.last, authors.id(of: slot).dot == last.dot,
          items.tags[Int(slot)] != ListItems.place
        {
          result[result.count - 1].values.append(items.value(Int(slot)))
        } else {
          isUntouched = false
        }
      }
    }
    return isUntouched ? result : nil
  }
}

extension ListState: Hashable {
  /// The same nodes in the same order, with the same values and the same history.
  package static func == (a: ListState, b: ListState) -> Bool { a.encoded == b.encoded }

  package func hash(into hasher: inout Hasher) { hasher.combine(count) }

  private var encoded: [UInt8] {
    var out: [UInt8] = []
    if isPlain {
      out.put(UInt8(2))
      ListItemsCoding.encode(ListItems(values(.remote)), into: &out)
    } else {
      ListStateCoding.encode(self, into: &out)
    }
    return out
  }
}
