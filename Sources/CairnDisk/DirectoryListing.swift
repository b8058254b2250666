/// What is in a directory, and what it takes to tell quickly that nothing has changed there.
package final class DirectoryListing: Sendable {
  /// Sorted by the bytes of the names.
  package let entries: [DirectoryEntry]
  /// Names that are there, and of which the system does not say what they stand for.
  package let unread: [String]
  /// The names as the system gave them, each with its zero, and what they stand for: nothing for
  /// one that was removed meanwhile, or is not read.
  let names: PosixDirectory.Names
  let infos: [FileInfo?]
  /// Which of the names each entry has.
  let numbers: [Int32]

  package convenience init(_ entries: [DirectoryEntry], unread: [String] = []) {
    self.init(entries, unread: unread, names: PosixDirectory.Names(), infos: [], numbers: [])
  }

  init(
    _ entries: [DirectoryEntry], unread: [String], names: PosixDirectory.Names,
    infos: [FileInfo?], numbers: [Int32]
  ) {
    self.unread = unread
    (self.entries, self.names, self.infos, self.numbers) = (entries, names, infos, numbers)
  }
}
