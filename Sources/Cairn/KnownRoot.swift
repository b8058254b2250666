internal import CairnDisk
internal import Synchronization

/// Which directory a folder was when it was listed last. A drive that is taken out leaves nothing,
/// or the place where it was mounted: what is written there nobody finds again. Known by its inode
/// alone: two drives may have the same, and of a link it is the link's own.
final class KnownRoot: Sendable {
  private let inode = Lock<UInt64?>(nil)

  /// It is looked at. What can't be told is not compared later, nor what is not there: a folder is
  /// made when something is first written.
  func note(_ path: String, _ disk: any Disk) {
    var info: FileInfo?
    do throws(DiskError) { info = try disk.info(path) } catch {}
    let found = info?.inode
    inode.withLock { $0 = found }
  }

  /// Before something is written: it is still that.
  func check(_ path: String, _ disk: any Disk) throws(CairnError) {
    guard let known = inode.withLock({ $0 }) else { return }
    let info: FileInfo?
    do throws(DiskError) { info = try disk.info(path) } catch { throw CairnError(error) }
    guard let info else {
      throw CairnError(
        .notFound,
        "the shared folder \(path) is not there any more; nothing was written. Wait until it is "
          + "back, or choose another one", file: path)
    }
    guard info.inode == known else {
      throw CairnError(
        .retryLater,
        "another directory has taken the place of the shared folder \(path); nothing was written. "
          + "The next exchange looks at what is there", file: path)
    }
  }
}
