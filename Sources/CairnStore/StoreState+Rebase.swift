import CairnBytes
import CairnMerge

/// The switch to a new snapshot: only slots that changed since the freeze are carried over.
extension StoreState {
  /// What was changed since the freeze, by table.
  var changedInEpoch: [(table: String, names: [RecordName])] {
    tables.indices.map { number in
      (tables[number].name, tables[number].names(inEpoch: ground.epoch))
    }
  }

  /// `places`: of what changed since, by table, as far as they have been looked for already.
  mutating func rebase(
    on base: BaseSnapshot, _ places: [String: [RecordName: RowPlace]]
  ) throws(StoreError) {
    var ground = Ground()
    ground.base = base
    // The numbers of devices stay: contexts are by them.
    ground.stamps = self.ground.stamps.emptied
    ground.epoch = self.ground.epoch
    var stamps = MovedStamps(self.ground.stamps)
    for index in tables.indices {
      tables[index] = try tables[index].rebased(
        from: self.ground, onto: &ground, &stamps, rules, places[tables[index].name] ?? [:])
    }
    self.ground = ground
  }
}

extension TableState {
  func names(inEpoch epoch: UInt32) -> [RecordName] {
    ids.indices.filter { epochs[$0] == epoch }.map { ids[$0] }
  }

  func rebased(
    from old: Ground, onto new: inout Ground, _ stamps: inout MovedStamps, _ rules: RuleBook,
    _ places: [RecordName: RowPlace]
  ) throws(StoreError) -> TableState {
    var table = TableState(name: name, base: new.base)
    for field in fieldNames { _ = table.column(field, &new, rules) }
    var moved: [Int: Int] = [:]
    for slot in ids.indices where epochs[slot] == old.epoch {
      let place: RowPlace
      if let known = places[ids[slot]] {
        place = known
      } else if let number = table.baseTable,
        let found = try new.base?.find(ids[slot], table: number)
      {
        place = found
      } else {
        place = .none
      }
      let target = table.addSlot(
        ids[slot], hash: ids[slot].hash, flags: flags[slot], place: place,
        size: Int(sizes[slot]), epoch: new.epoch)
      moved[slot] = target
      table.presences[target] = stamps.number(presences[slot], in: &new.stamps)
      table.complex[target] = complex[slot]
      if slot < references.count, references[slot] != 0 {
        while table.references.count <= target { table.references.append(0) }
        table.references[target] = references[slot]
      }
      for column in columns.indices {
        let cell = columns[column].cell(slot)
        let stamp = columns[column].stamp(slot)
        if cell.isNone, stamp == StampTable.settled { continue }
        table.set(
          target, column, table.move(cell, of: self, old, to: &new),
          stamp: stamps.number(stamp, in: &new.stamps))
      }
    }
    table.movePending(from: self, moved, old, &new, &stamps)
    return table
  }

  private mutating func movePending(
    from old: TableState, _ moved: [Int: Int], _ ground: Ground, _ new: inout Ground,
    _ stamps: inout MovedStamps
  ) {
    for pending in old.pendingRecords {
      guard let slot = moved[pending.slot] else { continue }
      var copy = pending
      copy.slot = slot
      copy.presenceBefore = stamps.number(pending.presenceBefore, in: &new.stamps)
      pendingRecords.append(copy)
      pendingMarks[slot] = UInt32(pendingRecords.count)
    }
    for list in old.pendingLists {
      // Whatever becomes of one: the others keep their numbers.
      let slot = moved[Int(list.key.slot)]
      let key = ListKey(slot: slot ?? 0, column: Int(list.key.column), root: list.key.root)
      var copy = PendingList(key: key, previous: list.previous)
      copy.size = list.size
      copy.isGone = list.isGone || slot == nil
      pendingLists.append(copy)
    }
    for entry in old.undo {
      guard let slot = moved[Int(entry.slot)] else { continue }
      let cell = move(entry.cell, of: old, ground, to: &new)
      undo.append(
        Undo(
          slot: UInt32(slot), column: entry.column,
          stamp: stamps.number(entry.stamp, in: &new.stamps), tag: cell.tag, word: cell.word))
    }
  }
}
