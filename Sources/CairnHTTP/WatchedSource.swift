package import Cairn
internal import CairnDisk
internal import Synchronization

/// A source of which it is known afterwards whether it was the one that failed: what credentials
/// and directories throw looks the same.
package final class WatchedSource: FolderSource {
  private let base: any FolderSource
  private let failed = Lock(false)

  package init(_ base: any FolderSource) { self.base = base }

  package var size: UInt64 { base.size }

  /// Whether it could not be read.
  package var hasFailed: Bool { failed.withLock { $0 } }

  package func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
    do { return try base.read(range) } catch {
      failed.withLock { $0 = true }
      throw error
    }
  }
}
