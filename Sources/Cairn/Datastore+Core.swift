package import CairnStore

extension Datastore {
  /// What is below the public face, for programmes that look closer than an app can.
  package var core: Store { store }
}
