internal import CairnDisk
internal import Synchronization

/// How far the transfers of a datastore are, counted since it was opened. No number ever falls.
public struct TransferProgress: Hashable, Sendable {
  /// One way.
  public struct Amount: Hashable, Sendable {
    /// Files that are through.
    public var files = 0
    /// Files there are to be, as far as it is known: what is fetched is known before it begins,
    /// since heads say what there is.
    public var totalFiles = 0
    /// Bytes that are through.
    public var bytes: UInt64 = 0
    /// Bytes there are to be.
    public var totalBytes: UInt64 = 0

    /// None.
    public init() {}

    mutating func plan(files more: Int, bytes moreBytes: UInt64) {
      totalFiles = max(totalFiles, files + more)
      totalBytes = max(totalBytes, bytes &+ moreBytes)
    }

    mutating func note(files more: Int, bytes moreBytes: UInt64) {
      files += more
      bytes &+= moreBytes
      totalFiles = max(totalFiles, files)
      totalBytes = max(totalBytes, bytes)
    }

    /// What was expected and did not come is not on its way any more.
    mutating func close() { (files, bytes) = (totalFiles, totalBytes) }
  }

  /// From the folder.
  public var fetched = Amount()
  /// To the folder. Deltas are packed one file ahead of the one that is sent, so that of a long
  /// backlog the totals grow.
  public var published = Amount()
  /// A request to a server is being made again because nothing moved for
  /// `ServerSettings.stallSeconds`. False once something is answered, or the round has ended.
  public var isStalled = false

  /// Nothing.
  public init() {}

  /// Nothing is on its way: all numbers have reached their totals.
  public var isIdle: Bool {
    fetched.bytes == fetched.totalBytes && fetched.files == fetched.totalFiles
      && published.bytes == published.totalBytes && published.files == published.totalFiles
  }
}

/// Where rounds of an exchange say how far they are.
final class TransferGauge: Sendable {
  private let state = Lock(TransferProgress())
  /// What is going to be published after that for which is planned next.
  private let later = Lock((files: 0, bytes: UInt64(0)))
  private let broadcast = Broadcast(latest: TransferProgress.self)

  var current: TransferProgress { state.withLock { $0 } }
  var updates: Updates<TransferProgress> {
    Updates(of: broadcast) { [state = current] in state }
  }

  func planFetch(files: Int, bytes: UInt64) { set { $0.fetched.plan(files: files, bytes: bytes) } }
  func noteFetched(files: Int = 0, bytes: UInt64 = 0) {
    set { $0.fetched.note(files: files, bytes: bytes) }
  }

  func planPublish(files: Int, bytes: UInt64) {
    let later = later.withLock { $0 }
    set { $0.published.plan(files: files + later.files, bytes: bytes &+ later.bytes) }
  }
  /// What comes after the next file that is planned, and so belongs to its total, too.
  func expectLater(files: Int, bytes: UInt64) { later.withLock { $0 = (files, bytes) } }
  func notePublished(files: Int, bytes: UInt64) {
    set { $0.published.note(files: files, bytes: bytes) }
  }

  func noteStalled(_ isStalled: Bool) { set { $0.isStalled = isStalled } }

  /// A round has come to its end, whichever.
  func noteIdle() {
    expectLater(files: 0, bytes: 0)
    set { progress in
      progress.isStalled = false
      progress.fetched.close()
      progress.published.close()
    }
  }

  func finish() { broadcast.finish() }

  private func set(_ change: (inout TransferProgress) -> Void) {
    let isNews = state.withLock { state in
      let before = state
      change(&state)
      return state != before
    }
    if isNews { broadcast.send { current } }
  }
}

extension Datastore {
  /// How far transfers are. Nothing ever is for a local datastore.
  public var progress: TransferProgress { gauge.current }

  /// The progress of transfers as it is now, and whenever it has changed; the newest only. Ends
  /// when the datastore is closed.
  public var progressChanges: Updates<TransferProgress> { gauge.updates }

  /// What went over the network for this datastore since it was opened; nil if its folder is none
  /// of a server.
  public var traffic: FolderTraffic? { exchanger?.folder.traffic }
}
