#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// What whoever started this process told it.
package enum ProcessEnvironment {
  /// The value of a variable; nil if it is not set, or empty, or no UTF-8.
  package static func value(_ name: String) -> String? {
    guard let text = unsafe getenv(name), let value = unsafe String(validatingCString: text),
      !value.isEmpty
    else { return nil }
    return value
  }
}
