/// What is in a directory, and what it takes to tell quickly that nothing has changed there.
package final class DirectoryListing: Sendable {
  /// Sorted by the bytes of the names.
  package let entries: [DirectoryEntry]
  /// The names as the system gave them, each with its zero, and what they stand for: nothing for
  /// one that was removed meanwhile.
  let names: PosixDirectory.Names
  let infos: [FileInfo?]
  /// Which of the names each entry has.
  let numbers: [Int32]

  package convenience init(_ entries: [DirectoryEntry]) {
    self.init(entries, names: PosixDirectory.Names(), infos: [], numbers: [])
  }

  init(
    _ entries: [DirectoryEntry], names: PosixDirectory.Names, infos: [FileInfo?], numbers: [Int32]
  ) {
    (self.entries, self.names, self.infos, self.numbers) = (entries, names, infos, numbers)
  }
}
