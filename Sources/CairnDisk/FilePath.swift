/// What can be said about a path by its text alone.
package enum FilePath {
  /// Without slashes at the end, with which the system would follow a link: "a/" is "a".
  package static func trimmed(_ path: String) -> String {
    if path.utf8.last != UInt8(ascii: "/") { return path }
    var rest = Substring(path).utf8
    while rest.count > 1, rest.last == UInt8(ascii: "/") { rest.removeLast() }
    return String(Substring(rest))
  }

  /// The directory that the last name of a path is in; nil if there is none above.
  package static func parent(of path: String) -> String? {
    let path = trimmed(path)
    if path.isEmpty || path == "/" { return nil }
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.utf8.startIndex ? "/" : trimmed(String(path[..<slash]))
  }
}
