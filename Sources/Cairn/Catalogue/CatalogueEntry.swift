/// What is said of one datastore id: its generation, and what is seen of it if it exists.
///
/// Deleting raises the generation; all generations below are deleted for good. Creating the
/// datastore again takes the generation as it is: two devices that do both at once mean the same
/// datastore.
package struct CatalogueEntry: Hashable, Sendable {
  /// So many times it can be deleted and created again.
  package static let generationMax: UInt32 = 1 << 20

  package var generation: UInt32
  /// Nil if the datastore does not exist, as far as this entry knows.
  package var view: CatalogueView?

  package init(generation: UInt32, view: CatalogueView?) {
    self.generation = generation
    self.view = view
  }

  /// Nothing is known of it, or nothing was ever there.
  package static let nothing = CatalogueEntry(generation: 0, view: nil)

  /// What both say together: the higher generation, and of two views of it the newer one. The same
  /// in whatever order and however often.
  package func joined(_ other: CatalogueEntry) -> CatalogueEntry {
    if generation != other.generation { return generation > other.generation ? self : other }
    guard let view else { return other }
    guard let second = other.view else { return self }
    return CatalogueEntry(generation: generation, view: max(view, second))
  }
}
