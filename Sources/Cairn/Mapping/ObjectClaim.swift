/// Says that an object store uses datastores: for as long as somebody holds it.
final class ObjectClaim: Sendable {
  /// What a datastore remembers of it.
  struct Memo {
    weak var claim: ObjectClaim?
  }
}
