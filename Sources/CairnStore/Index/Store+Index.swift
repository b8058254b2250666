import CairnDisk
import CairnMerge
import Synchronization

extension Store {
  /// From now on queries may use an index of this field. It is built by the first that needs it.
  package func addIndex(_ name: IndexName) throws(StoreError) {
    try withState { guarded throws(StoreError) in _ = guarded.store.indexNames.insert(name) }
  }

  package func removeIndex(_ name: IndexName) throws(StoreError) {
    try withState { guarded throws(StoreError) in
      guard guarded.store.indexNames.remove(name) != nil else { return }
      guarded.store.ground.base?.indexes[name] = nil
      let number = guarded.store.table(name.table)
      if let column = guarded.store.tables[number].existingColumn(name.field) {
        guarded.store.tables[number].dropIndex(column)
      }
    }
  }

  package var indexNames: [IndexName] { state.withLock { Array($0.store.indexNames) } }

  /// Builds for a snapshot that is about to become the base the indexes that the old one has,
  /// outside the state's lock. One that can't be built is left to the query that needs it.
  func prepareIndexes(_ base: inout BaseSnapshot) {
    for (name, rule) in state.withLock({ $0.store.indexesInUse }) {
      do { base.indexes[name] = try BaseIndex.build(name, rule: rule, over: &base) } catch {}
    }
  }
}
