internal import CairnDisk
internal import CairnLog
internal import Synchronization

/// The list of datastores in somebody else's folder, of which nothing is kept but in memory.
final class FollowedCatalogue: Sendable {
  /// Files as they were last read, by name.
  private let known = Lock<[String: (version: String, file: CatalogueFile)]>([:])

  /// What all files together say, as far as they can be read; the others are in the report.
  func entries(
    in folder: any Folder, identity: UInt128, _ report: inout ExchangeReport
  ) async throws(CairnError) -> [String: CatalogueEntry] {
    report.requests += 1
    var files: [CatalogueFile] = []
    for entry in try await folder.list(FileName.catalogue)
    where FileName.catalogueInstallation(entry.name) != nil && !entry.isElsewhere {
      let before = known.withLock { $0[entry.name] }
      if let before, before.version == entry.version {
        files.append(before.file)
      } else if let file = try await read(entry, in: folder, &report) {
        known.withLock { $0[entry.name] = (entry.version, file) }
        files.append(file)
      } else if let before {
        // What an installation said before still holds.
        files.append(before.file)
      }
    }
    return Catalogue.merged(files.filter { $0.folder == identity })
  }

  private func read(
    _ entry: FolderEntry, in folder: any Folder, _ report: inout ExchangeReport
  ) async throws(CairnError) -> CatalogueFile? {
    func wait(_ reason: String) {
      report.waiting.append(
        ExchangeReport.Waiting(name: entry.name, bytes: entry.size, reason: reason))
    }
    guard entry.isPresent, entry.size > 0, entry.size <= UInt64(CatalogueFile.bytesMax) else {
      wait("its content is not here yet")
      return nil
    }
    report.requests += 1
    let path = FileName.catalogue + "/" + entry.name
    do throws(CairnError) {
      guard let bytes = try await folder.read(path, limit: CatalogueFile.bytesMax) else {
        wait("it was listed, but is not there")
        return nil
      }
      do throws(LogError) { return try CatalogueFile(bytes, name: entry.name) } catch {
        switch error.reason {
        case .truncated, .needsNewerVersion: wait(error.detail)
        default: throw CairnError(error)
        }
        return nil
      }
    } catch {
      switch error.code {
      case .fileIO, .notFound, .corrupt, .readOnly:
        report.problems.append(ExchangeReport.Problem(name: entry.name, reason: error.message))
        return nil
      default: throw error
      }
    }
  }
}
