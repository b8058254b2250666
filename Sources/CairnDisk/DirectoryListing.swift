/// What is in a directory, and what it takes to tell quickly that nothing has changed there.
package final class DirectoryListing: Sendable {
  /// Sorted by the bytes of the names.
  package let entries: [DirectoryEntry]
  /// The names as the system gave them, each with its zero, and what they stand for: nothing for
  /// one that was removed meanwhile.
  let names: [UInt8]
  let infos: [FileInfo?]

  package init(_ entries: [DirectoryEntry], names: [UInt8] = [], infos: [FileInfo?] = []) {
    (self.entries, self.names, self.infos) = (entries, names, infos)
  }
}
