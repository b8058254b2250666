internal import CairnDisk
internal import Synchronization

/// A lock on a file of a simulated disk. It works by the file, not by its name, as `flock` does.
final class MemoryDiskLock: DiskLock {
  private let inode: Int
  private let disk: MemoryDisk
  private let age: Int
  private let isOver = Atomic<Bool>(false)

  init(inode: Int, disk: MemoryDisk) {
    self.inode = inode
    self.disk = disk
    age = disk.state.withLock { state in
      state.count(inode, opens: 1)
      return state.lockAge
    }
  }

  deinit { unlock() }

  func unlock() {
    if isOver.exchange(true, ordering: .acquiringAndReleasing) { return }
    disk.state.withLock { state in
      // Of a program that was killed, it may be another one's by now.
      if state.lockAge == age { state.locks.remove(inode) }
      state.count(inode, opens: -1)
    }
  }
}
