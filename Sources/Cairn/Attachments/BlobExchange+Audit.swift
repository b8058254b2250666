internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// A thorough look at the folder.
extension BlobExchange {
  /// Reads the own files to their last byte, and replaces those that are not what their names say;
  /// and of contents that are here and that only others have there, as many as it takes to find a
  /// good one: if there is none, an own one is written: whoever has written those may be gone. What
  /// the folder refuses of one of them is a problem, and keeps nobody from the others.
  func audit(
    _ listing: [ContentHash: [Copy]], _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) {
    guard audit != nil else { return }
    let own = store.device.rawValue
    let files = Dictionary(
      try home.list().map { ($0.hash, $0) }, uniquingKeysWith: { first, _ in first })
    var refusals = 0
    for (hash, copies) in listing.sorted(by: { $0.key < $1.key }) {
      let isOwn = copies.contains { $0.device == own }
      if !isOwn, files[hash] == nil { continue }
      var damaged: [Copy] = []
      var isGood = false
      for copy in copies where (copy.device == own || !isOwn) && !isGood {
        let verdict = try await isRight(copy, hash, &refusals, &audit, &report)
        guard let isRight = verdict else {
          // What can't be read now is no reason to write anything.
          isGood = true
          continue
        }
        isGood = isRight
        if !isRight { damaged.append(copy) }
      }
      if !isGood, !damaged.isEmpty {
        try await replace(hash, damaged, files[hash], &refusals, &audit, &report)
      }
    }
  }

  /// nil if it can't be read, or is not wholly there.
  private func isRight(
    _ copy: Copy, _ hash: ContentHash, _ refusals: inout Int, _ audit: inout FolderRepair?,
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> Bool? {
    guard copy.entry.isPresent else { return nil }
    report.requests += 1
    let found: SHA256?
    switch await read(copy) {
    case .success(let bytes): found = bytes
    case .failure(let error):
      if try await stopsOthers(error, &refusals, &report) { throw error }
      audit?.problems.append("\(copy.entry.name) was not checked: \(error.message)")
      return nil
    }
    refusals = 0
    guard let found, found.count == copy.entry.size else {
      audit?.problems.append(
        "\(copy.entry.name): \(found?.count ?? 0) of the \(copy.entry.size) bytes came that were "
          + "listed")
      return nil
    }
    audit?.checkedFiles += 1
    audit?.checkedBytes += found.count
    if found.digest() == hash { return true }
    let reason = "its bytes are not those that its name says"
    audit?.damaged.append(FolderRepair.Damage(name: copy.entry.name, reason: reason))
    return false
  }

  /// What is in a file of the folder; nil if it is not there.
  private func read(_ copy: Copy) async -> Result<SHA256?, CairnError> {
    var found = SHA256()
    do throws(CairnError) {
      let path = directory + "/" + copy.entry.name
      let isThere = try await folder.read(path, from: 0) { bytes throws(CairnError) in
        found.update(bytes)
        try BlobExchange.checkLength(found.count, atMost: copy.entry.size)
      }
      return .success(isThere ? found : nil)
    } catch { return .failure(error) }
  }

  private func replace(
    _ hash: ContentHash, _ damaged: [Copy], _ file: BlobStore.File?, _ refusals: inout Int,
    _ audit: inout FolderRepair?, _ report: inout ExchangeReport
  ) async throws(CairnError) {
    let names = damaged.map(\.entry.name).joined(separator: ", ")
    let reason = "\(names): its bytes are not those that its name says"
    guard let file else {
      audit?.problems.append("\(reason), and its content is not here")
      return
    }
    let before = report.publishedAttachments
    do throws(CairnError) { try await upload(file.reference, file, &report) } catch {
      if try await stopsOthers(error, &refusals, &report) { throw error }
      audit?.problems.append("\(reason), and it can't be written again: \(error.message)")
      return
    }
    if report.publishedAttachments > before {
      audit?.written.append(FileName.publishedBlob(device: store.device.rawValue, hash))
    } else {
      audit?.problems.append(
        "\(reason), and its content here is damaged or can't be read: the exchange's problems say")
    }
  }
}
