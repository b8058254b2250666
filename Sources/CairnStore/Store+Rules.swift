import CairnDisk
package import CairnMerge
import Synchronization

/// The rules that are set. What one field goes by is `rule(table:field:)`.
extension Store {
  /// The rules of fields that have one of their own, by table and field.
  package var rules: [String: [String: Rule]] { state.withLock { $0.store.rules.byTable } }

  /// The rule of all other fields.
  package var defaultRule: Rule { state.withLock { $0.store.rules.fallback } }
}
