import CairnFuzzEntries
import Dispatch

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What libFuzzer calls with each input. CAIRN_FUZZ_TARGET says which target it is for.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  do {
    if Driver.target == .folder { try Driver.wait(input) } else {
      try Driver.target.runAtOnce(input)
    }
  } catch {
    Driver.say("finding in \(Driver.target): \(error)\n")
    abort()
  }
  return 0
}

enum Driver {
  static func say(_ text: String) {
    var text = text
    _ = text.withUTF8 { unsafe write(2, $0.baseAddress, $0.count) }
  }

  static let target: FuzzTarget = {
    let name = unsafe getenv("CAIRN_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
      say("CAIRN_FUZZ_TARGET is none of the targets: \(name)\n")
      exit(2)
    }
    return target
  }()

  /// Runs the one target that has to wait for a folder.
  static func wait(_ input: [UInt8]) throws {
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
