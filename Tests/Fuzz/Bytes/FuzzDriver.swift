#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the drivers of libFuzzer share: CAIRN_FUZZ_TARGET says which target an input is for; a
/// finding is told and ends the process, as a trap does.
package enum FuzzDriver {
  private static let name =
    unsafe getenv("CAIRN_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""

  /// What CAIRN_FUZZ_TARGET says, as one of the targets that this driver has.
  package static func target<Target: RawRepresentable<String>>(_: Target.Type) -> Target {
    guard let target = Target(rawValue: name) else {
      say("CAIRN_FUZZ_TARGET is none of the targets of this driver: \(name)\n")
      exit(2)
    }
    return target
  }

  package static func run(
    _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ body: ([UInt8]) throws -> Void
  ) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    do { try body(input) } catch {
      say("finding in \(name): \(error)\n")
      abort()
    }
    return 0
  }

  private static func say(_ text: String) {
    var text = text
    _ = text.withUTF8 { unsafe write(2, $0.baseAddress, $0.count) }
  }
}
