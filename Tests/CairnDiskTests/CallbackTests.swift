import CairnDisk
import Synchronization
import TestSupport
import Testing

/// A callback behind a lock stays one call deep.
struct CallbackTests {
  /// Every look used to wrap it once more: typing a paper of 260,000 characters never ended, and
  /// the call at last ran out of stack.
  @Test func `a callback that was looked up a million times is as deep as at first`() {
    let calls = Lock(0)
    let held = Lock(Callback { calls.withLock { $0 += 1 } })
    for _ in 0..<1_000_000 where held.withLock({ $0.call }) == nil {
      Issue.record("the callback is gone")
    }
    held.withLock { $0.call }?()
    #expect(calls.withLock { $0 } == 1)
  }
}
