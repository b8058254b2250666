import CairnFuzzBytes
import CairnFuzzEntries
import Dispatch

private let target = FuzzDriver.target(FuzzTarget.self)

/// What libFuzzer calls with each input, for any target.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  unsafe FuzzDriver.run(bytes, count) {
    if target == .folder { try Waiting.run($0) } else { try target.runAtOnce($0) }
  }
}

/// The one target that has to wait for a folder.
private enum Waiting {
  static func run(_ input: [UInt8]) throws {
    let done = DispatchSemaphore(value: 0)
    let outcome = Outcome()
    Task.detached {
      do { try await target.run(input) } catch { outcome.error = error }
      done.signal()
    }
    done.wait()
    if let error = outcome.error { throw error }
  }

  /// Written before the semaphore is signalled and read after it was waited for.
  private final class Outcome: @unchecked Sendable {
    var error: (any Error)?
  }
}
