internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnStore

/// The contents of attachments: each what its name says, and all of them somewhere.
enum BlobCheck {
  static let name = "attachments"

  struct Checked {
    var path: String
    var bytes: UInt64
    /// What is wrong with it; nil if nothing is.
    var problem: String?
  }

  /// Reads every content that is here, to the last byte.
  static func files(_ directory: String, disk: any Disk) throws(DiskError) -> [Checked] {
    guard try disk.info(directory) != nil else { return [] }
    var result: [Checked] = []
    for entry in try disk.list(directory) where entry.info.kind == .file {
      guard let (hash, _) = FileName.blob(entry.name) else { continue }
      let path = directory + "/" + entry.name
      let found: SHA256
      do throws(DiskError) { found = try read(path, disk: disk) } catch {
        // Gone since it was listed.
        if error.reason == .notFound { continue }
        throw error
      }
      let isRight = found.digest() == hash
      result.append(
        Checked(
          path: path, bytes: found.count,
          problem: isRight ? nil : "the attachment's bytes are not those that its name says"))
    }
    return result
  }

  private static func read(_ path: String, disk: any Disk) throws(DiskError) -> SHA256 {
    let file = try disk.open(path, .read)
    defer { file.close() }
    var hash = SHA256()
    while true {
      let bytes = try file.read(at: hash.count, count: BlobStore.chunkBytes)
      if bytes.isEmpty { return hash }
      hash.update(bytes)
    }
  }

  static func run(_ datastore: ExaminedDatastore) -> [Finding] {
    let directory = datastore.directory + "/" + FileName.blobs
    do throws(DiskError) {
      let bad = try files(directory, disk: datastore.root.disk).filter { $0.problem != nil }
      return bad.map { file in
        datastore.finding(
          name, .error, "\(file.path): \(file.problem ?? ""). When it is next read, it goes into "
            + "quarantine, and the folder's copy is fetched if there is one", file: file.path,
          command: datastore.root.command(["blob", "fetch"], on: datastore.id))
      }
    } catch { return [datastore.finding(name, LogError(error))] }
  }

  /// Compares with what is in the folder.
  static func compare(
    _ datastore: ExaminedDatastore, _ folder: any Folder
  ) async -> [Finding] {
    do throws(CairnError) {
      let directory = FileName.blobDirectory(datastore.name)
      var copies: Set<BlobReference> = []
      // A placeholder does not say how long the content is.
      var absent: Set<ContentHash> = []
      for entry in try await folder.list(directory) {
        guard let (_, hash) = FileName.publishedBlob(entry.name) else { continue }
        if entry.isPresent {
          copies.insert(BlobReference(length: entry.size, hash: hash))
        } else {
          absent.insert(hash)
        }
      }
      return missing(datastore, elsewhere: copies, absent)
    } catch { return [datastore.finding(name, .warning, error.message)] }
  }

  /// Contents that something refers to and that are nowhere. A note only: what the log says may
  /// have been taken back since.
  static func missing(
    _ datastore: ExaminedDatastore, elsewhere: Set<BlobReference>, _ absent: Set<ContentHash> = []
  ) -> [Finding] {
    guard let current = datastore.current else { return [] }
    let inspection = StoreInspection(
      unlocked: datastore.directory, current: current, machine: datastore.root.machine)
    var found = Set(inspection.references(datastore.segments).map(\.content))
      .subtracting(elsewhere).filter { !absent.contains($0.hash) }
    for entry in datastore.root.listed(datastore.directory + "/" + FileName.blobs) {
      guard let (hash, _) = FileName.blob(entry.name) else { continue }
      found.remove(BlobReference(length: entry.info.size, hash: hash))
    }
    guard let first = found.min(by: { $0.hash < $1.hash }) else { return [] }
    let isOne = found.count == 1
    let place = datastore.root.account == nil ? "not here" : "neither here nor in the folder"
    let what =
      isOne
      ? "an attachment that the log or the snapshot names, \(AttachmentID(first)), is \(place)"
      : "\(found.count) attachments that the log or the snapshot names, "
        + "\(AttachmentID(first)) among them, are \(place)"
    return [
      datastore.finding(
        name, .note, "\(what). The list says whether records still have \(isOne ? "it" : "them"); "
          + "devices that have the content put it back", file: nil,
        command: datastore.root.command("blob", on: datastore.id))
    ]
  }
}
