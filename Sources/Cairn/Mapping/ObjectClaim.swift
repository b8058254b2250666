internal import CairnStore

/// Says that an object store uses datastores: for as long as somebody holds it.
final class ObjectClaim: Sendable {
  /// What a datastore remembers of it.
  struct Memo {
    weak var claim: ObjectClaim?
  }

  /// Where the objects are: they may refer to contents that no record refers to yet.
  let objects: Store

  init(objects: Store) { self.objects = objects }
}
