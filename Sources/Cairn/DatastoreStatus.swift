internal import CairnMerge
internal import CairnStore

/// Where a datastore stands between this device and the others.
///
/// A value of one moment; `Datastore.statusChanges` gives each one that differs, and an equal one
/// if more has come that is `incoming`, or if what is could not be taken by a `sync()` that failed:
/// that one after the next round.
public struct DatastoreStatus: Hashable, Sendable {
  /// The account's folder answers: the last request to it succeeded, and a round of the exchange is
  /// under way or they run in the background. That it refuses one file, or that a budget has no
  /// room for one, changes nothing. A folder has no connection, so this says what is known, not
  /// what will be. Never set for a local datastore.
  public var connected: Bool
  /// There are, or may be, changes of other devices that are not here yet: set from opening until
  /// a round has looked at everything in the folder, and as long as the folder names files that
  /// are not there, or not wholly, or what was fetched builds on changes that are nowhere yet.
  /// Always set for a local datastore.
  public var downloading: Bool
  /// Committed changes are not in the folder yet. For a local datastore: it has changes, committed
  /// or not, since they would all have to be uploaded.
  public var uploading: Bool
  /// Changes of other devices are here; the next `sync()` makes them visible.
  public var incoming: Bool
  /// There are local changes for the next `sync()` to commit.
  public var outgoing: Bool
  /// This copy has to be given up, since another device has deleted the datastore, and everything
  /// throws `deleted`: close the datastore. That moves the copy to the trash, where it stays for
  /// 30 days (`DatastoreManager.trashedDatastores()`); nothing is left to remove. A copy that has a
  /// twin (a clone, a restored backup) need not be given up: it takes another name by itself.
  public var needsReset: Bool
  /// Other devices' deletes that wait for consent; nil if none do. What waits is neither
  /// `incoming` nor `downloading`. Known since the last `sync()`.
  public var massDelete: MassDelete?
  /// Devices that have not said yet that they have seen what somebody asked all devices to agree on
  /// (`Datastore.askToForget()`, `Datastore.retireDevice(_:givingUp:)`), by id, sorted. Until they
  /// have, or are retired, nothing is forgotten, and who was not part of the agreement can't take
  /// it over. Known since the first exchange of an opening; empty before.
  public var awaitedDevices: [String] = []
  /// What last kept changes from being uploaded; nil once a round has published what there was, or
  /// found nothing to publish. What keeps a round from looking into the folder keeps it from
  /// publishing, too, and is in both errors.
  public var uploadError: CairnError?
  /// What last kept changes from being downloaded; nil once a round has looked at everything.
  public var downloadError: CairnError?
  /// What went over the network since the datastore was opened; nil if its folder is none of a
  /// server, and in `statusChanges`, since it says nothing of where the datastore stands.
  public var traffic: FolderTraffic?
  /// Why the log could not be folded into a snapshot, in the background, when that was last tried;
  /// nil if it could. Nothing is lost: the log grows on, and a later commit tries again.
  public var maintenanceError: CairnError?
  /// Who syncs when something is incoming has to hear of what comes while it does, also if all that
  /// shows is as before.
  var arrivals = ArrivalCount()

  /// One of the three errors, nil if there is none.
  public var anyError: CairnError? { downloadError ?? uploadError ?? maintenanceError }

  init(_ store: StoreStanding, _ exchange: ExchangeCondition.State?) {
    outgoing = store.hasPending
    maintenanceError = store.compactionFailure.map { CairnError($0) }
    guard let exchange else {
      (connected, incoming, downloading, needsReset) = (false, false, true, store.isDeleted)
      uploading = store.committed > 0 || store.hasPending
      return
    }
    let isExchanging = exchange.rounds > 0 || exchange.isInBackground
    connected = exchange.isAnswering && isExchanging && !store.isDeleted
    downloading = exchange.isMissing || exchange.isBlocked
    uploading = store.committed > store.published
    incoming = exchange.hasIncoming
    arrivals.count = exchange.arrivals
    needsReset = store.isDeleted
    awaitedDevices = store.awaited.map(\.description)
    massDelete = exchange.massDelete
    uploadError = exchange.uploadError
    downloadError = exchange.downloadError
  }

  /// Whether it is nothing new to who had the other one last.
  func isRepeat(of earlier: DatastoreStatus) -> Bool {
    self == earlier && !(incoming && arrivals.count != earlier.arrivals.count)
  }
}

extension Datastore {
  /// Where it stands between this device and the others. After `close()`: where it stood then.
  public var status: DatastoreStatus {
    var status = observers.status
    status.traffic = traffic
    return status
  }
}
