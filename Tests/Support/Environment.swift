#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// What whoever runs the tests asks for.
package enum Environment {
  /// Whether a variable is set: `CAIRN_LONG` asks for long campaigns.
  package static func isSet(_ name: String) -> Bool { unsafe getenv(name) != nil }
}
