extension Register {
  /// Takes out what a write covers, whether or not the write itself is still alive.
  mutating func cover(with write: Write, by author: DeviceID, context: VersionVector) {
    if case .edit = write { return }
    entries.removeAll(seenBy: context)
    switch write {
    case .put, .create:
      bases.removeAll(seenBy: context)
      totals.removeAll(seenBy: context)
    case .add:
      totals.removeAll { $0.device == author }
    case .edit: break
    }
    dropLists()
  }

  /// Adds a write that no delete has killed.
  mutating func insert(_ write: Write, stamp: Stamp, born: [Dot]) {
    switch write {
    case .edit: break
    case .put(let value, let covered):
      entries.insert(inOrder: Entry(stamp: stamp, born: born, value: value, isAdd: false))
      bases.insert(inOrder: Base(stamp: stamp, born: born, value: value, covered: covered))
    case .create(let items, let covered):
      let value = FieldValue.list(items)
      entries.insert(
        inOrder: Entry(stamp: stamp, born: born, value: value, isAdd: false, isCreated: true))
      bases.insert(inOrder: Base(stamp: stamp, born: born, value: value, covered: covered))
      if lists.last?.isCreated == true { addRoot(stamp) }
    case .add(let result, let total, let since):
      entries.insert(inOrder: Entry(stamp: stamp, born: born, value: result, isAdd: true))
      totals.append(Total(stamp: stamp, born: born, since: since, total: total))
      totals.sort { $0.device < $1.device }
    }
  }

  mutating func kill(by tombstone: Tombstone) {
    entries.removeAll(killedBy: tombstone)
    bases.removeAll(killedBy: tombstone)
    totals.removeAll(killedBy: tombstone)
    dropLists()
  }
}
