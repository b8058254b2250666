/// How a file is opened. No mode truncates, and none follows a link.
package enum OpenMode: Sendable {
  case read
  case readWrite
  /// A new file, for reading and writing; fails with `exists` if anything has that name.
  case create
  /// The same for secrets: nobody but the user may read the file, from its first moment on.
  case createPrivate
  /// Fails with `exposed` unless the file is the user's own and nobody else may read it.
  case readPrivate

  package var isCreating: Bool { self == .create || self == .createPrivate }
}
