/// A folder in which nothing is ever written, whoever tries.
struct ReadOnlyFolder: Folder {
  let base: any Folder

  init(_ base: any Folder) { self.base = base.forReading() }

  func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    try await base.list(directory)
  }

  func read(_ path: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    try await base.read(path, limit: limit)
  }

  func read(
    _ path: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    try await base.read(path, from: offset, body)
  }

  func write(_ path: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    throw refusal(path)
  }

  func write(
    _ path: String, from source: any FolderSource
  ) async throws(CairnError) -> FolderEntry {
    throw refusal(path)
  }

  func remove(_ path: String) async throws(CairnError) { throw refusal(path) }

  func forReading() -> any Folder { self }

  var traffic: FolderTraffic? { base.traffic }

  func onStall(_ tell: @escaping @Sendable (_ isStalled: Bool) -> Void) { base.onStall(tell) }

  private func refusal(_ path: String) -> CairnError {
    CairnError(
      .readOnly, "the shared folder is somebody else's, and is only read here: \(path) stays as it "
        + "is. To write there, link the folder as an account", file: path)
  }
}

extension Folder {
  /// The directory that it is, on this machine: where hints of changes come from.
  var directoryPath: String? {
    if let guarded = self as? ReadOnlyFolder { return guarded.base.directoryPath }
    return (self as? DirectoryFolder)?.path
  }
}
