package import CairnDisk
internal import CairnLog
internal import CairnMerge

/// Says what is wrong with the files of accounts, roots and datastores, and which command mends it.
///
/// It changes nothing, opens nothing, and works while datastores are damaged or open elsewhere:
/// what somebody is just writing is not judged. Of the datastores it looks at it reads the
/// snapshot, the log, the trash, attachments, PUBLISHED, own deltas that wait outside of the log to
/// be published, and what was fetched and waits to be merged, to the last byte; of an account's
/// folder the heads, this device's own files, and the newest file of each other device.
public struct Doctor: Sendable {
  /// The directory that is looked at.
  public let root: String
  /// Whose datastores they are; nil for local ones.
  public let account: Account?
  private let machine: Machine
  private let folder: (any Folder)?
  private let folderKinds: [FolderKind]
  /// What commands need that are to work on the root, besides its path: how the account was given.
  package var commandOptions: [String] = []
  /// What following anew needs besides the folder: how a server is reached.
  package var followOptions: [String] = []

  /// Looks at the datastores of a `DatastoreManager`'s root, or at all those of an
  /// `AccountManager`'s directory, whose accounts it knows by itself.
  ///
  /// - Parameters:
  ///   - root: The root, or the directory.
  ///   - account: Whose datastores a root has; nil for local ones.
  ///   - folderKinds: What opens folders on servers that are known by their address.
  public init(root: String, account: Account? = nil, folderKinds: [FolderKind] = []) {
    // By the name that its locks have.
    self.init(
      root: PathName.root(root), account: account, folder: Doctor.folder(of: account, folderKinds),
      folderKinds: folderKinds, machine: .real)
  }

  package init(
    root: String, account: Account?, folder: (any Folder)?, folderKinds: [FolderKind] = [],
    machine: Machine
  ) {
    self.root = root
    self.account = account
    self.folder = folder
    self.folderKinds = folderKinds
    self.machine = machine
  }

  private static func folder(of account: Account?, _ kinds: [FolderKind]) -> (any Folder)? {
    guard let account else { return nil }
    do throws(CairnError) {
      return try account.folder.opener(kinds, machine: .real)()
    } catch { return UnreachableFolder(error: error) }
  }

  /// Looks at everything, or at one datastore and what it depends on. Never throws: what can't be
  /// read is a finding.
  @concurrent
  public func examine(_ id: String? = nil) async -> DoctorReport {
    var report = DoctorReport()
    let place = ExaminedRoot(root: root, account: account, folder: folder, machine: machine)
    if PlaceCheck.isNoDirectory(place) {
      report.roots.append(root)
      report.findings += PlaceCheck.run(place)
      return report
    }
    guard let (file, findings) = AccountsCheck.run(root, machine: machine) else {
      let own = AccountsCheck.account(of: root, machine: machine)
      let unknown: Finding?
      if let own, account == nil || account == own {
        unknown = await examineRoot(root, ofApp: own, id, &report)
      } else {
        unknown = await examineRoot(
          root, account, folder, id, &report, options: commandOptions)
      }
      if let unknown { report.findings.append(unknown) }
      return report
    }
    report.findings += findings
    var unknown: [Finding] = []
    for entry in file?.entries ?? [] {
      let place = root + "/" + FileName.accountRoot(entry.id)
      // An account that was never used has none yet.
      guard isThere(place) else { continue }
      if let found = await examineRoot(place, ofApp: entry.account, id, &report) {
        unknown.append(found)
      }
    }
    let local = root + "/" + FileName.localRoot
    if isThere(local), let found = await examineRoot(local, nil, nil, id, &report) {
      unknown.append(found)
    }
    // One of them may have it, and the others need not. Of accounts that can't be read it is not
    // known which datastores they have.
    if let id, file != nil, unknown.count == report.roots.count {
      report.findings.append(
        unknown.count == 1 ? unknown[0] : Doctor.unknown(id, in: root, command: nil))
    }
    return report
  }

  private static func unknown(_ id: String, in place: String, command: String?) -> Finding {
    Finding(
      check: PlaceCheck.name, severity: .error, datastore: id,
      message: "there is no datastore \(id) in \(place)", file: place, command: command)
  }

  private func isThere(_ path: String) -> Bool {
    // One that can't be looked at is looked at, and found to be that.
    do { return try machine.disk.info(path) != nil } catch { return true }
  }

  /// One of an `AccountManager`, which alone remembers whose it is.
  private func examineRoot(
    _ path: String, ofApp account: Account, _ id: String?, _ report: inout DoctorReport
  ) async -> Finding? {
    await examineRoot(
      path, account, Doctor.folder(of: account, folderKinds), id, &report,
      options: ShellLine.option("--folder", account.folder.text)
        + ShellLine.option("--user", account.user))
  }

  /// Returns what is to be said if neither the root nor its account has the datastore.
  private func examineRoot(
    _ path: String, _ account: Account?, _ folder: (any Folder)?, _ id: String?,
    _ report: inout DoctorReport, options: [String] = []
  ) async -> Finding? {
    var root = ExaminedRoot(
      root: path, account: account, folder: folder, machine: machine, options: options,
      followOptions: followOptions)
    report.roots.append(path)
    report.findings += PlaceCheck.run(root)
    report.findings += PermissionCheck.run(root)
    report.findings += FollowingCheck.run(&root)
    report.findings += SpaceCheck.run(root)
    report.findings += RootFilesCheck.run(root)
    report.findings += MigrationCheck.run(root)
    report.findings += CatalogueCheck.run(&root)
    report.findings += LinkageCheck.run(root)
    let (found, isUsable) = await FolderCheck.run(root)
    report.findings += found
    var isHere = false
    for datastore in root.datastores() where id == nil || datastore.id == id {
      isHere = true
      report.datastores.append(datastore.id)
      let (examined, findings) = examine(datastore)
      report.findings += findings
      if isUsable, !examined.isOver, let folder {
        report.findings += await examine(examined, in: folder)
      } else if folder == nil {
        report.findings += BlobCheck.missing(examined, elsewhere: [])
      }
    }
    guard let id, !isHere, !isListed(id, root) else { return nil }
    return Doctor.unknown(id, in: path, command: root.command("ls"))
  }

  /// The account has it, and it was not fetched yet.
  private func isListed(_ id: String, _ root: ExaminedRoot) -> Bool {
    root.installation?.entry(id).view != nil || root.following?.id == id
  }

  /// The checks of its files. One that somebody works on is looked at again if other files count
  /// than at the beginning.
  private func examine(_ datastore: ExaminedDatastore) -> (ExaminedDatastore, [Finding]) {
    for _ in 0..<2 {
      var copy = datastore
      let findings = files(&copy)
      var again = copy
      guard copy.holder != nil, CurrentCheck.run(&again).isEmpty, again.current != copy.current
      else { return (copy, findings) }
    }
    var copy = datastore
    let findings = files(&copy)
    return (copy, findings)
  }

  private func files(_ datastore: inout ExaminedDatastore) -> [Finding] {
    var findings = LockCheck.run(&datastore)
    findings += CurrentCheck.run(&datastore)
    findings += CurrentCheck.linkage(datastore)
    findings += SnapshotFileCheck.run(&datastore)
    findings += LogCheck.run(&datastore)
    findings += PublishedCheck.read(&datastore)
    findings += InboxCheck.run(datastore)
    findings += QuarantineCheck.run(
      datastore.directory, of: datastore.root, datastore: datastore.id)
    findings += BlobCheck.run(datastore)
    findings += TrashCheck.run(datastore)
    return findings + StoreFilesCheck.run(datastore)
  }

  private func examine(_ datastore: ExaminedDatastore, in folder: any Folder) async -> [Finding] {
    do throws(CairnError) {
      let entries = try await folder.list(datastore.name)
      let listing = Dictionary(
        entries.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
      return await PlaceholderCheck.run(datastore, entries)
        + PublishedCheck.compare(datastore, folder, listing)
        + DevicesCheck.run(datastore, folder, listing) + BlobCheck.compare(datastore, folder)
    } catch {
      return [datastore.finding(FolderCheck.name, .error, error.message, file: datastore.name)]
    }
  }
}
