/// How a file is opened. No mode truncates, and none follows a link.
package enum OpenMode: Sendable {
  case read
  case readWrite
  /// A new file, for reading and writing; fails with `exists` if anything has that name.
  case create
}
