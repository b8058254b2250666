import Foundation
import TestSupport
import Testing

@testable import Cairn

/// Handlers that send again, on a thread without much of a stack.
@Suite struct HandlerStackTests {
  @Test func `a handler that is called at once may send again any number of times`() async {
    let count = 300_000
    let sums = Broadcast<Int>(merge: { $0 += $1 })
    let told = Told<Int>()
    let subscription = sums.subscribe(on: { $0() }) { [sums] value in
      told.add(value)
      if value < count { sums.send { value + 1 } }
    }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let thread = Thread {
        sums.send { 1 }
        continuation.resume()
      }
      thread.stackSize = 512 << 10
      thread.start()
    }
    let all = told.all
    #expect(all.count == count)
    // Looked at outside of `#expect`, which would tell all of them.
    let isInOrder = all.elementsEqual(1...count)
    #expect(isInOrder)
    subscription.end()
  }
}
