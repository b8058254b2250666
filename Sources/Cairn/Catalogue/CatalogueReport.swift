/// What one exchange of the list of datastores with the folder did.
public struct CatalogueReport: Hashable, Sendable {
  /// Calls of the folder: one if nothing has changed, now and then two.
  public var requests = 0
  /// Other installations' files that were read because they are new or have changed.
  public var fetchedFiles = 0
  /// This installation's own file was written.
  public var hasPublished = false
  /// Ids of datastores whose copies were removed from this device, or whose use has ended, because
  /// they were deleted elsewhere.
  public var deleted: [String] = []
  /// Datastores whose deletion elsewhere waits for consent, since there are so many at once: call
  /// `refresh(allowingMassDelete: true)` if it is meant. They are listed and usable as before.
  public var heldDeletes: [String] = []
  /// Own files of deleted datastores that were removed from the folder.
  public var removedFiles = 0
  /// Files that are not wholly there yet, or that only a newer version can read. Or heads of this
  /// installation in deleted datastores, as long as the folder has only their placeholders: until
  /// then its files there are not removed.
  public var waiting: [ExchangeReport.Waiting] = []
  /// Files that can't be used, and why: nothing of them was taken. Or own ones of deleted
  /// datastores that can't be removed.
  public var problems: [ExchangeReport.Problem] = []

  /// A report of nothing.
  public init() {}

  /// Nothing was read, written or removed.
  public var isIdle: Bool {
    fetchedFiles == 0 && !hasPublished && deleted.isEmpty && removedFiles == 0
  }
}
