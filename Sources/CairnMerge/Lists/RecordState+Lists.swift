/// What edits call the lists of a record by.
extension RecordState {
  /// Whether such deltas, and no others, have made its lists and all their nodes: whoever edits one
  /// names them.
  package func hasLists(onlyOf isKnown: (Dot) -> Bool) -> Bool {
    fields.values.allSatisfy { register in
      register.entries.allSatisfy { !$0.isList || isKnown($0.dot) }
        && register.lists.allSatisfy { list in
          list.authors.stamps.allSatisfy { isKnown($0.dot) }
        }
    }
  }
}
