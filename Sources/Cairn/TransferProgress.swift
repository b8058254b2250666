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

    /// At least so much is still to come of a job of which `rest` was known.
    mutating func plan(files: Int, bytes: UInt64, _ rest: inout Rest) {
      let moreFiles = max(files - rest.files, 0)
      let moreBytes = bytes - min(bytes, rest.bytes)
      totalFiles += moreFiles
      totalBytes &+= moreBytes
      rest.files += moreFiles
      rest.bytes += moreBytes
    }

    /// So much of a job has come.
    mutating func note(files more: Int, bytes moreBytes: UInt64, _ rest: inout Rest) {
      plan(files: more, bytes: moreBytes, &rest)
      files += more
      bytes &+= moreBytes
      rest.files -= more
      rest.bytes -= moreBytes
    }

    /// What was expected of a job and did not come is not on its way any more.
    mutating func close(_ rest: inout Rest) { note(files: rest.files, bytes: rest.bytes, &rest) }
  }

  /// What of a job is still to come, one way.
  struct Rest: Sendable {
    var files = 0
    var bytes: UInt64 = 0
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

/// Where the jobs of an exchange say together how far they are: each round is one, and so is each
/// content that is fetched because somebody asks for it.
final class TransferGauge: Sendable {
  private let state = Lock((progress: TransferProgress(), jobs: 0))
  private let broadcast = LateBroadcast { Broadcast(latest: TransferProgress.self) }

  var current: TransferProgress { state.withLock { $0.progress } }
  var updates: Updates<TransferProgress> {
    Updates(of: broadcast.value) { [weak self] in self?.current }
  }

  func noteStalled(_ isStalled: Bool) { change { $0.isStalled = isStalled } }

  func beginJob() { state.withLock { $0.jobs += 1 } }

  func finish() { broadcast.finish() }

  /// `endsJob`: when the last one has come to its end nothing is stalled any more.
  func change(endsJob: Bool = false, _ change: (inout TransferProgress) -> Void) {
    let isNews = state.withLock { state in
      let before = state.progress
      change(&state.progress)
      if endsJob {
        state.jobs -= 1
        if state.jobs == 0 { state.progress.isStalled = false }
      }
      return state.progress != before
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
