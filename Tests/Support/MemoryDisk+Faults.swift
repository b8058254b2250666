package import CairnDisk
internal import Synchronization

extension MemoryDisk {
  /// How many steps changed something or made it durable, failed ones included.
  package var operations: Int { state.withLock { $0.operations } }

  /// How many times something was read, listed, looked up, measured or opened.
  package var reads: Int { state.withLock { $0.reads } }

  /// From now on what is read is kept for `readLog`.
  package func logReads() { state.withLock { $0.readLog = [] } }

  package var readLog: [MemoryDiskRead] { state.withLock { $0.readLog ?? [] } }

  /// Bytes of files that were read.
  package var bytesRead: Int { state.withLock { $0.bytesRead } }

  /// Makes the step of that number fail, and all after it if it is for ever. A sync that fails
  /// leaves what it should have synced visible and not durable, whatever later syncs return.
  package func failAt(operation: Int, reason: DiskError.Reason, forever: Bool = false) {
    let fault = MemoryDiskFault(number: operation, reason: reason, forever: forever)
    state.withLock { $0.operationFaults.append(fault) }
  }

  /// Makes the read of that number fail, and all after it if it is for ever.
  package func failAt(read: Int, reason: DiskError.Reason, forever: Bool = false) {
    let fault = MemoryDiskFault(number: read, reason: reason, forever: forever)
    state.withLock { $0.readFaults.append(fault) }
  }

  /// Steps and reads that have failed as ordered: what was ordered and never came to pass is not
  /// among them, nor what fails without power.
  package var strikes: [MemoryDiskStrike] { state.withLock { $0.strikes } }

  package var strikeCount: Int { state.withLock { $0.strikes.count } }

  /// Cuts the power when the step of that number is tried: it and all else fails and changes
  /// nothing. What could be left is then to be had from `crash`.
  package func powerOff(before operation: Int) {
    state.withLock { $0.powerOffBefore = operation }
  }

  /// From now on a write that fails has written some of its bytes, from the first on, as the seed
  /// decides: all that a disk promises of it is that it may have.
  package func tearFailedWrites(seed: UInt64) {
    state.withLock { $0.tearing = SeededRandom(seed) }
  }

  package var isOff: Bool { state.withLock { $0.isOff } }

  /// Asks before every step, which fails with the reason that is returned. The disk is not locked
  /// meanwhile, so `crash` and `snapshot` show what is there before the step.
  package func intercept(_ body: (@Sendable (MemoryDiskOperation) -> DiskError.Reason?)?) {
    state.withLock { $0.interceptor = body }
  }

  /// All programs that hold locks are killed: their locks are free at once, as `flock`'s are.
  package func killHolders() {
    state.withLock { state in
      state.locks = []
      state.lockAge += 1
    }
  }

  /// Takes back all failures that were ordered, and brings back the power.
  package func heal() {
    state.withLock { state in
      state.operationFaults = []
      state.readFaults = []
      state.interceptor = nil
      state.powerOffBefore = nil
      state.isOff = false
    }
  }

  /// Bytes that all files together may take; nil is no limit.
  package var capacity: Int? {
    get { state.withLock { $0.capacity } }
    set { state.withLock { $0.capacity = newValue } }
  }

  package var usedBytes: Int { state.withLock { $0.usedBytes } }
}
