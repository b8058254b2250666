internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// The list of datastores in somebody else's folder, of which nothing is kept but in memory.
final class FollowedCatalogue: Sendable {
  private let memory = Lock(Memory())
  /// Where files that fail a check are put; nil: nowhere yet.
  private let quarantine: Quarantine?

  private struct Memory {
    /// Files as they were last read, by name.
    var known: [String: (version: String, file: CatalogueFile)] = [:]
    /// Verdicts on files that can't be used, by name …
    var refused: [String: (version: String, verdict: Verdict)] = [:]
    /// … and when those are read again.
    var retries: [String: Retry] = [:]
  }

  private enum Verdict {
    case waiting(String)
    /// Only a newer version can read it.
    case newer(String)
    case problem(String)
    /// The folder lists it, and does not give it.
    case withheld(CairnError)
  }

  /// What the files say.
  struct Found {
    var entries: [String: CatalogueEntry] = [:]
    /// Why one of them was not given, of which nothing is known from before either: what is not
    /// among the entries may be in it.
    var withheld: CairnError?
    /// The same of one that was given, and is half there, damaged or a newer version's.
    var unread: CairnError?
  }

  init(quarantine: Quarantine? = nil) { self.quarantine = quarantine }

  /// What all files together say, as far as they can be read; the others are in the report.
  func entries(
    in folder: any Folder, identity: UInt128, _ report: inout ExchangeReport
  ) async throws(CairnError) -> Found {
    report.requests += 1
    var found = Found()
    var files: [CatalogueFile] = []
    for entry in try await folder.list(FileName.catalogue) where !entry.isElsewhere {
      guard let installation = FileName.catalogueInstallation(entry.name) else { continue }
      let before = memory.withLock { $0.known[entry.name] }
      if let before, before.version == entry.version {
        files.append(before.file)
      } else if let file = try await read(entry, of: installation, in: folder, &report) {
        memory.withLock { $0.known[entry.name] = (entry.version, file) }
        files.append(file)
      } else if let before {
        // What an installation said before still holds.
        files.append(before.file)
      } else {
        note(entry, &found)
      }
    }
    found.entries = Catalogue.merged(files.filter { $0.folder == identity })
    return found
  }

  /// Why nothing is known of what a file says.
  private func note(_ entry: FolderEntry, _ found: inout Found) {
    let verdict = memory.withLock { memory in
      memory.refused[entry.name].flatMap { $0.version == entry.version ? $0.verdict : nil }
    }
    let what = "\(entry.name) of the folder's list of datastores"
    let error: CairnError
    switch verdict {
    case .withheld(let refusal):
      found.withheld = found.withheld ?? refusal
      return
    case .newer(let reason):
      error = CairnError(.needsNewerVersion, "\(what): \(reason)", file: entry.name)
    case .problem(let reason):
      error = CairnError(
        .retryLater,
        "\(what) can't be read: \(reason). Its device writes it anew; if that is gone for good, "
          + "remove the file", file: entry.name)
    case .waiting, nil:
      error = CairnError(
        .retryLater, "\(what) is not whole here yet; try again when it is", file: entry.name)
    }
    found.unread = found.unread ?? error
  }

  private func read(
    _ entry: FolderEntry, of installation: UInt64, in folder: any Folder,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> CatalogueFile? {
    if let verdict = verdict(on: entry) {
      FollowedCatalogue.tell(verdict, entry, &report)
      return nil
    }
    guard entry.isPresent, entry.size > 0, entry.size <= UInt64(CatalogueFile.bytesMax) else {
      FollowedCatalogue.tell(.waiting("its content is not here yet"), entry, &report)
      return nil
    }
    report.requests += 1
    let path = FileName.catalogue + "/" + entry.name
    let bytes: [UInt8]
    do throws(CairnError) {
      guard let found = try await folder.read(path, limit: CatalogueFile.bytesMax) else {
        FollowedCatalogue.tell(.waiting("it was listed, but is not there"), entry, &report)
        return nil
      }
      bytes = found
    } catch {
      try await withhold(entry, error, folder, &report)
      return nil
    }
    do throws(LogError) {
      let file = try CatalogueFile(bytes, name: entry.name)
      guard file.installation == installation else {
        throw LogError(.foreign, entry.name, at: 32, "it belongs under another name")
      }
      memory.withLock { ($0.refused[entry.name], $0.retries[entry.name]) = (nil, nil) }
      return file
    } catch {
      let verdict = judge(error, entry, bytes)
      FollowedCatalogue.tell(verdict, entry, &report)
      return nil
    }
  }

  /// The others' files go on without it. A server that is out of order, or busy, is not asked for
  /// all of them: it does not list them either.
  private func withhold(
    _ entry: FolderEntry, _ error: CairnError, _ folder: any Folder,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    switch error.code {
    case .fileIO, .notFound, .corrupt, .readOnly, .sizeLimit: break
    case _ where Exchange.mayBeOfOne(error):
      report.requests += 1
      _ = try await folder.list(FileName.catalogue)
    default: throw error
    }
    refuse(entry, .withheld(error))
    FollowedCatalogue.tell(.withheld(error), entry, &report)
  }

  private static func tell(
    _ verdict: Verdict, _ entry: FolderEntry, _ report: inout ExchangeReport
  ) {
    switch verdict {
    case .waiting(let reason), .newer(let reason):
      report.waiting.append(
        ExchangeReport.Waiting(name: entry.name, bytes: entry.size, reason: reason))
    case .problem(let reason):
      report.problems.append(ExchangeReport.Problem(name: entry.name, reason: reason))
    case .withheld(let error):
      report.problems.append(ExchangeReport.Problem(name: entry.name, reason: error.message))
    }
  }

  // MARK: what can't be used

  /// What is wrong with a file that is not to be read now; to be asked once a round.
  private func verdict(on entry: FolderEntry) -> Verdict? {
    memory.withLock { memory in
      guard let known = memory.refused[entry.name], known.version == entry.version,
        memory.retries[entry.name]?.isDue() != true
      else { return nil }
      return known.verdict
    }
  }

  /// As members do: half a file is waited for, a newer version's is left alone; a damaged or
  /// foreign one is kept aside. All are read again, ever more seldom.
  private func judge(_ error: LogError, _ entry: FolderEntry, _ bytes: [UInt8]) -> Verdict {
    let verdict: Verdict
    switch error.reason {
    case .truncated, .missing, .disk: verdict = .waiting(error.detail)
    case .needsNewerVersion: verdict = .newer(error.detail)
    case .corrupt, .foreign, .limit, .poisoned:
      quarantine?.keep(entry.name, bytes, reason: error.description)
      verdict = .problem(
        error.description + "; it is read again later, and when it changes")
    }
    refuse(entry, verdict)
    return verdict
  }

  private func refuse(_ entry: FolderEntry, _ verdict: Verdict) {
    memory.withLock { memory in
      memory.refused[entry.name] = (entry.version, verdict)
      Retry.fail(entry, in: &memory.retries)
    }
  }
}
