package import CairnDisk
internal import CairnLog

/// A folder that is a directory of this machine.
///
/// Files are written under a temporary name, synced and renamed, so that no sync engine picks up
/// half of one. Links are not followed; what is no regular file is not there.
public struct DirectoryFolder: BriefFolder {
  /// The directory.
  public let path: String
  private let machine: Machine
  /// Whether it removes what crashes left half written.
  private var isSwept = true
  private let known = KnownListings()
  private let root = KnownRoot()

  /// The folder in a directory, which is created when something is first written.
  public init(_ path: String) { self.init(path, machine: .real) }

  package init(_ path: String, machine: Machine) {
    self.path = path
    self.machine = machine
  }

  /// The same directory, in which nothing is removed by a look at it.
  public func forReading() -> any Folder {
    var copy = self
    copy.isSwept = false
    return copy
  }

  /// Regular files of a directory; sorted by name. What the system says nothing of may be one: it
  /// is waited for. If that is so of all, it is the directory that can't be listed.
  public func list(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    // Not with contents: a round lists them in its middle, and has looked before that.
    if !FileName.isBlobDirectory(directory) { root.note(path, machine.disk) }
    do throws(DiskError) {
      let before = known[directory]
      let listing = try machine.disk.list(join(directory), after: before?.listing)
      if let before, listing === before.listing {
        known.confirm(directory, before, isBrief: false)
        return before.entries
      }
      let files = listing.entries.filter { $0.info.kind == .file }
      let gone = sweep(directory, files)
      let entries = entries(files.filter { !gone.contains($0.name) }, listing.unread)
      // What is half written may have to go in the next one, and what is not read may be then.
      let isKept = listing.unread.isEmpty && !files.contains { FileName.isTemporary($0.name) }
      known[directory] = isKept ? KnownListings.Known(listing, entries) : nil
      return entries
    } catch {
      known[directory] = nil
      if error.reason == .notFound { return [] }
      throw CairnError(error)
    }
  }

  /// As many looks in a row may leave out files that are written once: what the folder does to one
  /// of them without touching anything else is seen with the next one.
  static let briefLooksMax = 7

  /// The system tells of each file by itself, which for hundreds of them is nearly all that a look
  /// costs; names come many at a time.
  func listBriefly(_ directory: String) async throws(CairnError) -> [FolderEntry] {
    if let before = known[directory], before.briefLooks < DirectoryFolder.briefLooksMax {
      let isUnchanged: Bool
      do throws(DiskError) {
        isUnchanged = try machine.disk.isUnchanged(
          join(directory), since: before.listing, at: before.changing)
      } catch {
        // The whole look says what is wrong.
        isUnchanged = false
      }
      if isUnchanged {
        known.confirm(directory, before, isBrief: true)
        return before.entries
      }
    }
    return try await list(directory)
  }

  /// Removes what crashes left half written a week ago, by this device's clock and by the files
  /// beside it: one clock that is wrong is not enough. Whoever still writes such a file is told
  /// that it is gone, and writes it again.
  private func sweep(_ directory: String, _ files: [DirectoryEntry]) -> Set<String> {
    let temporary = files.filter { FileName.isTemporary($0.name) }
    guard isSwept, !temporary.isEmpty else { return [] }
    let newest = files.reduce(Int64.min) { max($0, $1.info.modified) }
    let latest = min(machine.clock.now(), newest)
    var gone: Set<String> = []
    for file in temporary {
      let age = latest.elapsed(since: file.info.modified)
      if age <= DirectoryFolder.abandonedMilliseconds { continue }
      do throws(DiskError) {
        try machine.disk.remove(join(directory) + "/" + file.name)
        gone.insert(file.name)
      } catch {
        // It is in nobody's way.
      }
    }
    return gone
  }

  private static let abandonedMilliseconds: Int64 = 7 * 86_400_000

  private func join(_ name: String) -> String { name.isEmpty ? path : path + "/" + name }

  private func entry(_ name: String, _ info: FileInfo) -> FolderEntry {
    FolderEntry(
      name: name, size: info.size, version: "\(info.size)-\(info.modified)-\(info.inode)")
  }

  /// What a directory has of ours. A file that iCloud Drive keeps elsewhere has a placeholder of
  /// another name on systems before macOS 14: it counts as the file, which is not here now. Nor is
  /// what can't be read.
  private func entries(_ files: [DirectoryEntry], _ unread: [String]) -> [FolderEntry] {
    guard !unread.isEmpty || files.contains(where: { DirectoryFolder.kept(by: $0.name) != nil })
    else { return files.map { entry($0.name, $0.info) } }
    let names = Set(files.map(\.name)).union(unread)
    var all = files.map { file -> FolderEntry in
      guard let name = DirectoryFolder.kept(by: file.name), !names.contains(name) else {
        return entry(file.name, file.info)
      }
      var elsewhere = entry(name, file.info)
      elsewhere.isPresent = false
      return elsewhere
    }
    for name in unread {
      // It may be a placeholder, too.
      let kept = DirectoryFolder.kept(by: name)
      if let kept, names.contains(kept) { continue }
      all.append(FolderEntry(name: kept ?? name, size: 0, version: "unread", isPresent: false))
    }
    return all.sorted { $0.name < $1.name }
  }

  /// The name of the file that a placeholder of iCloud Drive stands for.
  static func kept(by name: String) -> String? {
    let (begin, end) = (".", ".icloud")
    guard name.hasPrefix(begin), name.hasSuffix(end), name.utf8.count > 8 else { return nil }
    return String(name.dropFirst(begin.count).dropLast(end.count))
  }

  /// A whole file; nil if it is not there.
  public func read(_ file: String, limit: Int) async throws(CairnError) -> [UInt8]? {
    do { return try DurableFile.read(join(file), limit: limit, disk: machine.disk) } catch {
      throw CairnError(error)
    }
  }

  /// Writes, syncs and renames, so that nobody sees half a file.
  public func write(_ file: String, _ bytes: [UInt8]) async throws(CairnError) -> FolderEntry {
    let parts = file.split(separator: "/")
    guard let name = parts.last.map(String.init) else {
      throw CairnError(.illegalArgument, "a file in a folder needs a name")
    }
    let directory = join(parts.dropLast().joined(separator: "/"))
    try make(directory)
    do {
      try DurableFile.replace(directory: directory, name: name, bytes: bytes, machine: machine)
    } catch { throw CairnError(error) }
    return try written(directory, name, UInt64(bytes.count))
  }

  /// The bytes of a file from a place on, in pieces of 256 KiB; false if it is not there.
  public func read(
    _ file: String, from offset: UInt64, _ body: ([UInt8]) throws(CairnError) -> Void
  ) async throws(CairnError) -> Bool {
    let opened: any DiskFile
    do throws(DiskError) { opened = try machine.disk.open(join(file), .read) } catch {
      if error.reason == .notFound { return false }
      throw CairnError(error)
    }
    defer { opened.close() }
    var place = offset
    while true {
      let bytes: [UInt8]
      do throws(DiskError) {
        bytes = try opened.read(at: place, count: BlobStore.chunkBytes)
      } catch { throw CairnError(error) }
      if bytes.isEmpty { return true }
      try body(bytes)
      place += UInt64(bytes.count)
    }
  }

  /// Writes a piece at a time under another name, syncs and renames, so that nobody sees half a
  /// file.
  public func write(
    _ file: String, from source: any FolderSource
  ) async throws(CairnError) -> FolderEntry {
    let parts = file.split(separator: "/")
    guard let name = parts.last.map(String.init) else {
      throw CairnError(.illegalArgument, "a file in a folder needs a name")
    }
    let directory = join(parts.dropLast().joined(separator: "/"))
    let temporary = directory + "/" + FileName.temporary(machine.random.next())
    try make(directory)
    do throws(CairnError) {
      try put(source, at: temporary)
      do throws(DiskError) {
        try machine.disk.rename(temporary, to: directory + "/" + name)
        try machine.disk.syncDirectory(directory)
      } catch { throw CairnError(error) }
    } catch {
      // The first error says more than what removing might add.
      do { try machine.disk.remove(temporary) } catch {}
      throw error
    }
    return try written(directory, name, source.size)
  }

  /// Makes a directory of the folder, if need be; not the folder, if that was there and is not now.
  private func make(_ directory: String) throws(CairnError) {
    try root.check(path, machine.disk)
    do throws(DiskError) {
      if try machine.disk.info(directory) == nil { try machine.disk.createDirectory(directory) }
    } catch { throw CairnError(error) }
  }

  private func put(_ source: any FolderSource, at path: String) throws(CairnError) {
    let new: any DiskFile
    do { new = try machine.disk.open(path, .create) } catch { throw CairnError(error) }
    defer { new.close() }
    var place: UInt64 = 0
    while place < source.size {
      let bytes = try source.read(
        place..<min(source.size, place + UInt64(BlobStore.chunkBytes)))
      do { try new.write(bytes.span, at: place) } catch { throw CairnError(error) }
      place += UInt64(bytes.count)
    }
    do { try new.sync() } catch { throw CairnError(error) }
  }

  /// What was just written, if it looks so.
  private func written(
    _ directory: String, _ name: String, _ length: UInt64
  ) throws(CairnError) -> FolderEntry {
    let info: FileInfo?
    do { info = try machine.disk.info(directory + "/" + name) } catch { throw CairnError(error) }
    guard let info, info.size == length else {
      throw CairnError(
        .fileIO, "\(directory)/\(name) is not what was just written there; is the disk full?",
        file: directory + "/" + name)
    }
    return entry(name, info)
  }

  /// Removes a file; one that is gone is fine. One that iCloud Drive keeps elsewhere goes with its
  /// placeholder.
  public func remove(_ file: String) async throws(CairnError) {
    for name in [file, DirectoryFolder.placeholder(of: file)] {
      do throws(DiskError) { return try machine.disk.remove(join(name)) } catch {
        if error.reason != .notFound { throw CairnError(error) }
      }
    }
  }

  /// Whether a placeholder is all that is here of a file.
  func isElsewhere(_ file: String) throws(CairnError) -> Bool {
    do throws(DiskError) {
      return try machine.disk.info(join(DirectoryFolder.placeholder(of: file))) != nil
    } catch { throw CairnError(error) }
  }

  private static func placeholder(of file: String) -> String {
    var parts = file.split(separator: "/").map(String.init)
    parts.append(".\(parts.popLast() ?? "").icloud")
    return parts.joined(separator: "/")
  }
}
