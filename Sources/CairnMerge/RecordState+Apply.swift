extension RecordState {
  /// Applies one change of a delta. Deltas come in causal order and each only once; the changes of
  /// one delta come in the order that `RecordChange` says.
  ///
  /// - Parameters:
  ///   - context: everything that the author had seen, and this delta itself.
  ///   - born: `bornOfInsert` or `bornOfUpdate` of the author's state; a delete has none.
  package mutating func apply(
    _ change: RecordChange, stamp: Stamp, context: VersionVector, born: [Dot]
  ) {
    switch change {
    case .delete:
      delete(Tombstone(dot: stamp.dot, context: context))
    case .insert:
      if !isKilled(born: born, context: context) {
        presences.insert(inOrder: Presence(stamp: stamp, born: born))
      }
    case .write(let field, .edit(let edit)):
      // It lives and dies with the list that it edits.
      fields.update(field) { $0.apply(edit, stamp: stamp, context: context) }
    case .write(let field, let write):
      var register = register(field)
      register.cover(with: write, by: stamp.dot.device, context: context)
      if !isKilled(born: born, context: context) {
        register.insert(write, stamp: stamp, born: born)
      }
      set(register, for: field)
    }
  }

  /// Whether a delete that the author had not seen kills what arrives now. The deletes that others
  /// have superseded need not be asked: their successors know all that they knew.
  private func isKilled(born: [Dot], context: VersionVector) -> Bool {
    tombstones.contains { !context.contains($0.dot) && $0.coversBirth(of: born) }
  }

  /// What is here can't have seen the delete, since deltas arrive in causal order.
  private mutating func delete(_ tombstone: Tombstone) {
    kill(by: tombstone)
    tombstones.removeAll { tombstone.context.contains($0.dot) }
    let index = tombstones.firstIndex { tombstone.dot < $0.dot } ?? tombstones.endIndex
    tombstones.insert(tombstone, at: index)
  }

  mutating func kill(by tombstone: Tombstone) {
    presences.removeAll(killedBy: tombstone)
    for (field, var register) in fields {
      register.kill(by: tombstone)
      set(register, for: field)
    }
  }
}
