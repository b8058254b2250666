internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// The CATALOGUE file of a root. Several managers, also of several processes, may work on one root:
/// each change is made on what the file says now, under a lock that is held for that moment only.
final class Installation: Sendable {
  let root: String
  private let machine: Machine
  private let accountRoot: AccountRoot?
  private let cache = Lock<Cached?>(nil)
  /// What a crash left in the root was looked for.
  private let hasSwept = Atomic<Bool>(false)
  /// Nothing is written any more: the root may be gone, and would be made anew.
  private let isOver = Atomic<Bool>(false)

  private struct Cached {
    var info: FileInfo
    var file: InstallationFile
  }

  init(root: String, machine: Machine, accountRoot: AccountRoot? = nil) {
    self.root = root
    self.machine = machine
    self.accountRoot = accountRoot
  }

  private var path: String { root + "/" + FileName.installation }

  /// The manager was shut down.
  func end() { isOver.store(true, ordering: .releasing) }

  func checkInUse() throws(CairnError) {
    if isOver.load(ordering: .acquiring) { throw DatastoreManager.shutDownError }
  }

  /// What the file says now; that nothing is known if there is none.
  func read() throws(CairnError) -> InstallationFile {
    do throws(DiskError) {
      guard let info = try machine.disk.info(path) else { return InstallationFile() }
      if let cached = cache.withLock({ $0 }), cached.info == info { return cached.file }
    } catch { throw CairnError(error) }
    return try readAnew()
  }

  private func readAnew() throws(CairnError) -> InstallationFile {
    do throws(LogError) {
      let info: FileInfo?
      do { info = try machine.disk.info(path) } catch { throw LogError(error) }
      let limit = InstallationFile.bytesMax
      guard let info, let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk)
      else { return InstallationFile() }
      let file = try InstallationFile(bytes, path: path)
      cache.withLock { $0 = Cached(info: info, file: file) }
      return file
    } catch { throw CairnError(error) }
  }

  /// Changes the file, durably, if `body` changes anything.
  func update<R>(
    _ body: (inout InstallationFile) throws(CairnError) -> R
  ) throws(CairnError) -> R {
    try checkInUse()
    let lock = try takeLock()
    defer { lock.unlock() }
    sweepOnce()
    let before = try readAnew()
    var file = before
    let result = try body(&file)
    guard file != before else { return result }
    while file.installation == 0 { file.installation = machine.random.next() }
    file.own.installation = file.installation
    file.own.folder = file.folder
    let bytes = file.encoded()
    // Written, it could not be read again, and nothing would open any more.
    guard bytes.count <= InstallationFile.bytesMax else {
      throw CairnError(
        .sizeLimit,
        "the list of datastores would have \(bytes.count) bytes, \(InstallationFile.bytesMax) at "
          + "most can be kept: see which files in the folder's \(FileName.catalogue) belong there",
        file: path)
    }
    try checkInUse()
    do throws(LogError) {
      try DurableFile.replace(
        directory: root, name: FileName.installation, bytes: bytes, machine: machine)
    } catch {
      // A disk that refuses a write may refuse to remove the half of it, too.
      hasSwept.store(false, ordering: .relaxed)
      throw CairnError(error)
    }
    return result
  }

  /// Removes files that were to become CATALOGUE or MIGRATION when something crashed: while both
  /// locks are held nobody else writes one. Best effort, and once only if it works.
  private func sweepOnce() {
    if hasSwept.load(ordering: .relaxed) { return }
    do throws(DiskError) {
      let names = try machine.disk.list(root, only: { FileName.isTemporary($0) }).filter {
        $0.info.kind == .file
      }.map(\.name)
      if !names.isEmpty {
        let moving = try machine.disk.lock(root + "/" + FileName.migrationLock)
        defer { moving.unlock() }
        for name in names { try machine.disk.remove(root + "/" + name) }
      }
      hasSwept.store(true, ordering: .relaxed)
    } catch {
      // Whoever moves datastores just now will have ended the next time.
    }
  }

  /// The account may have been unlinked elsewhere during a round: the next one has the account
  /// manager look, as locks may be held here.
  private func makeRoot() throws(CairnError) {
    do { if try machine.disk.info(root) != nil { return } } catch { throw CairnError(error) }
    if let accountRoot, accountRoot.isGone { throw DatastoreManager.shutDownError }
    do { try machine.disk.createDirectory(root) } catch { throw CairnError(error) }
  }

  /// Tries of about a millisecond each: who holds the lock writes one small file.
  private static let attempts = 10_000

  private func takeLock() throws(CairnError) -> any DiskLock {
    try makeRoot()
    for _ in 0..<Installation.attempts {
      do throws(DiskError) {
        return try machine.disk.lock(root + "/" + FileName.installationLock)
      } catch {
        if error.reason != .locked { throw CairnError(error) }
        Pause.brief()
      }
    }
    throw CairnError(
      .alreadyOpen, "the list of datastores in \(root) is being changed by somebody else, and has "
        + "been for long; see who holds \(FileName.installationLock) there",
      file: root + "/" + FileName.installationLock)
  }
}
