internal import CairnDisk
internal import CairnLog
internal import CairnMerge

/// What was fetched and waits for a sync.
package enum InboxCheck {
  static let name = "inbox"

  /// What a sync would hold of what waits for a datastore of a root, and how it is taken; nil if it
  /// would take all of it.
  package static func held(of id: String, in root: String) -> String? {
    let examined = ExaminedRoot(root: root, account: nil, folder: nil, machine: .real)
    let copies = examined.datastores().filter { $0.id == id }
    guard var copy = copies.max(by: { $0.generation < $1.generation }) else { return nil }
    _ = CurrentCheck.run(&copy)
    _ = PublishedCheck.read(&copy)
    return run(copy).first { $0.message.hasPrefix(massDeletePrefix) }.map { found in
      found.message + (found.command.map { ": " + $0 } ?? "")
    }
  }

  private static let massDeletePrefix = "what waits deletes up to "

  static func run(_ datastore: ExaminedDatastore) -> [Finding] {
    let directory = datastore.directory + "/" + FileName.inbox
    var findings: [Finding] = []
    var (files, deltas, deletes) = (0, UInt64(0), 0)
    let retired = Set((datastore.ownHead?.retired ?? []).map(\.rawValue))
    var held = 0
    do throws(DiskError) {
      for entry in try datastore.root.list(directory) {
        guard let published = FileName.published(entry.name) else { continue }
        // No sync takes these. What is in them comes under the new ids of those devices.
        if retired.contains(published.device) {
          held += 1
          continue
        }
        let path = directory + "/" + entry.name
        do throws(LogError) {
          let limit = PublishedSegment.fileBytesMax
          let bytes = try DurableFile.read(path, limit: limit, disk: datastore.root.disk)
          // A sync has taken it just now.
          guard let bytes else { continue }
          let segment = try PublishedSegment(bytes, name: path, datastore: datastore.identity)
          deletes += try Exchange.verify(segment, path).deletes
          files += 1
          deltas += segment.last - segment.first + 1
        } catch {
          findings.append(
            datastore.finding(
              name, .warning, "\(error); it is fetched anew by the next sync", file: path,
              offset: error.offset, command: datastore.sync))
        }
      }
    } catch { return [datastore.finding(name, LogError(error))] }
    if held > 0 {
      findings.append(
        datastore.finding(
          name, .note, "\(held) fetched \(held == 1 ? "file is" : "files are") held, of devices "
            + "that were retired: what is new in there comes again when they are back, under new "
            + "ids",
          file: directory))
    }
    guard files > 0 else { return findings }
    let massDelete = massDelete(datastore, directory, deletes)
    findings.append(
      datastore.finding(
        name, .note, "\(deltas) \(deltas == 1 ? "delta" : "deltas") in \(files) fetched "
          + "\(files == 1 ? "file waits" : "files wait") for a sync, or for deltas that they build "
          + "on: the sync says which", file: directory,
        // That would hold it.
        command: massDelete.isEmpty ? datastore.sync : nil))
    return findings + massDelete
  }

  private static func massDelete(
    _ datastore: ExaminedDatastore, _ directory: String, _ deletes: Int
  ) -> [Finding] {
    // What others delete goes there, however much it is.
    if datastore.isFollowed { return [] }
    // INFO is a hint; without it nothing is said.
    let info = (try? InfoFile.read(datastore.directory, disk: datastore.root.disk)) ?? nil
    guard let here = info.map({ Int(clamping: $0.view.records) }),
      deletes > MassDeleteLimit().records(of: here)
    else { return [] }
    return [
      datastore.finding(
        name, .warning,
        massDeletePrefix + "\(deletes) of the \(here) records that are here: a sync holds that "
          + "back until it is allowed", file: directory,
        command: datastore.root.command("sync", on: datastore.id, "--allow-mass-delete"))
    ]
  }
}
