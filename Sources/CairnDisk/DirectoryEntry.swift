/// One name in a directory, and what it stands for.
package struct DirectoryEntry: Equatable, Sendable {
  package var name: String
  package var info: FileInfo

  package init(name: String, info: FileInfo) {
    self.name = name
    self.info = info
  }
}
