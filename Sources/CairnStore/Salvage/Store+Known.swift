import CairnDisk
package import CairnMerge

/// What a store that was put together anew has, and the damaged copy had not seen.
extension Store {
  /// Whether a store which has seen so much knows all that makes a field what it is here, so that
  /// what it wrote there was written on top of that.
  package func isKnown(
    by seen: VersionVector, table: String, id: RecordName, field: String
  ) throws(StoreError) -> Bool {
    try withState { guarded throws(StoreError) in
      // Of what is settled only the fence tells what it was.
      let knowsSettled = seen.covers(guarded.store.fence)
      func knows(_ stamp: Stamp) -> Bool {
        stamp.isSettled ? knowsSettled : seen.contains(stamp.dot)
      }
      let number = guarded.store.table(table)
      let register = try guarded.store.fullState(number, id).register(field)
      guard register.entries.allSatisfy({ knows($0.stamp) }),
        register.bases.allSatisfy({ knows($0.stamp) }),
        register.totals.allSatisfy({ knows($0.stamp) })
      else { return false }
      var only = RecordState()
      only.fields[field] = register
      return only.hasLists { seen.contains($0) }
    }
  }

  /// Puts into the trash what `copy` shows and this store, which takes its place, does not have:
  /// other devices have deleted it, and nobody was shown that. Returns how many records these are,
  /// kept or not. `tables` are left out.
  package func keepDeleted(
    of copy: Store, except tables: Set<String>, options: StoreOptions
  ) throws(StoreError) -> Int {
    // Whose deltas delete them can't be told, only of whom there is more than before.
    let seen = copy.vector
    let dots = vector.entries.filter { $0.device != device }
    guard let dot = dots.first(where: { !seen.contains($0) }) else { return 0 }
    let trash = RecordTrash(
      store: directory, datastore: datastore, options: options, machine: machine)
    let now = machine.clock.now()
    var records = trash.room()
    var count = 0
    for table in try copy.allTables()
    where !Identifier.isReserved(table) && !tables.contains(table) {
      for id in try copy.query(table: table, []) {
        if try exists(table: table, id: id) { continue }
        guard let fields = try copy.fields(table: table, id: id) else { continue }
        count += 1
        records.add(
          KeptRecord(
            dot: dot, time: now, table: table, id: id,
            fields: fields.map { KeptRecord.Field(name: $0.0, value: $0.1) }))
      }
    }
    if trash.isOn, !records.isEmpty {
      trash.remove(try trash.keep(records, durable: true).outdated)
    }
    return count
  }
}
