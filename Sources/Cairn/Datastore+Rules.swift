internal import CairnMerge
internal import CairnStore

extension Datastore {
  /// The rules that were set for fields, by table and field; all others go by ``defaultRule``.
  ///
  /// What other devices set shows after the `sync()` that brings it. Made anew each time. The rule
  /// that one field goes by is ``Table/rule(field:)``.
  public var rules: [String: [String: ResolutionRule]] {
    store.rules.compactMapValues { fields in
      fields.isEmpty ? nil : fields.mapValues(ResolutionRule.init)
    }
  }

  /// The rule of fields that have none of their own: `remote`, or what ``setDefaultRule(_:)`` set.
  public var defaultRule: ResolutionRule { ResolutionRule(store.defaultRule) }
}
