import CairnDisk
import TestSupport
import Testing

/// The two disks that have to behave alike.
enum DiskKind: CaseIterable, Sendable {
  case memory, posix
}

/// A disk and an empty directory on it.
struct DiskWorkbench {
  let disk: any Disk
  let root: String
  private let directory: TemporaryDirectory?

  init(_ kind: DiskKind) throws {
    switch kind {
    case .memory:
      disk = MemoryDisk()
      root = "/bench"
      directory = nil
      try disk.createDirectory(root)
    case .posix:
      let directory = try TemporaryDirectory()
      disk = PosixDisk()
      root = directory.path
      self.directory = directory
    }
  }

  func path(_ name: String) -> String { root + "/" + name }

  /// A new file with this text.
  func put(_ name: String, _ text: String) throws { try disk.put(path(name), text) }

  func text(_ name: String) throws -> String { try disk.text(path(name)) }

  func names(_ directory: String = "") throws -> [String] {
    try disk.list(path(directory)).map(\.name)
  }
}

extension Disk {
  func put(_ path: String, _ text: String) throws {
    let file = try open(path, .create)
    try file.put(text)
    file.close()
  }

  func text(_ path: String) throws -> String {
    let file = try open(path, .read)
    defer { file.close() }
    return try file.text()
  }

  /// Fails unless the call throws a `DiskError` of this reason.
  func fails(
    _ reason: DiskError.Reason, location: SourceLocation = #_sourceLocation,
    _ call: (any Disk) throws -> Void
  ) {
    let error = #expect(throws: DiskError.self, sourceLocation: location) { try call(self) }
    #expect(error?.reason == reason, sourceLocation: location)
  }
}

extension DiskFile {
  func put(_ text: String, at offset: UInt64 = 0) throws {
    let bytes = Array(text.utf8)
    try write(bytes.span, at: offset)
  }

  func text() throws -> String {
    String(decoding: try read(at: 0, count: 1 << 20), as: UTF8.self)
  }
}
