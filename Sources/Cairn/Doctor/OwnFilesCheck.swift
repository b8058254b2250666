internal import CairnDisk
internal import CairnLog

/// This device's own files in the folder, to the last byte: nobody else can give what is in them.
enum OwnFilesCheck {
  /// `head` is the own one, as the folder has it. Files that are not there are named elsewhere, but
  /// for the snapshot.
  static func run(
    _ head: Head, _ datastore: ExaminedDatastore, _ folder: any Folder,
    _ listing: [String: FolderEntry]
  ) async -> [Finding] {
    var findings: [Finding] = []
    var refusals = 0
    for segment in head.segments {
      let name = segment.name(head.device)
      // A placeholder is somewhere, and reading it may block for long.
      guard let entry = listing[name], entry.size == segment.size, entry.isPresent else { continue }
      switch await problem(of: segment, name, datastore, folder) {
      case .success(nil): refusals = 0
      case .success(let problem?):
        refusals = 0
        findings.append(
          datastore.finding(
            PublishedCheck.name, .error, "one of this device's own files in the folder is damaged, "
              + "so that new devices wait for it: \(problem)", file: name,
            command: datastore.repair))
      case .failure(let error):
        findings.append(
          datastore.finding(
            PublishedCheck.name, .warning, "one of this device's own files in the folder can't be "
              + "read now, so that nobody knows what is in it: \(error.message)", file: name))
        // The next one would not come either, or only after as long a wait.
        refusals += Exchange.mayBeOfOne(error) ? 1 : 2
      }
      if refusals >= 2 { break }
    }
    guard let snapshot = head.snapshot,
      !PublishedCheck.isThere(snapshot.name, snapshot.size, listing)
    else { return findings }
    findings.append(
      datastore.finding(
        PublishedCheck.name, .error, "the folder has lost this device's own snapshot, or has only "
          + "a part of it: \(cost(of: head))", file: snapshot.name, command: datastore.repair))
    return findings
  }

  /// What others miss without a head's snapshot.
  static func cost(of head: Head) -> String {
    guard let gap = head.gaps.first else { return "new devices have to read all deltas" }
    return "deltas from \(gap.lowerBound) to \(gap.upperBound) of device \(head.device) are in no "
      + "other file, and new devices wait for them"
  }

  /// Nil if all is well; fails if that can't be told now.
  private static func problem(
    of segment: Head.Segment, _ name: String, _ datastore: ExaminedDatastore, _ folder: any Folder
  ) async -> Result<String?, CairnError> {
    do throws(CairnError) {
      let limit = PublishedSegment.fileBytesMax
      let bytes = try await folder.read(datastore.name + "/" + name, limit: limit)
      // Gone just now.
      guard let bytes else { return .success(nil) }
      return .success(segment.problem(with: bytes, name, datastore: datastore.identity))
    } catch {
      // It is the file itself that can't be read.
      let isDamaged = [.corrupt, .fileIO].contains(error.code)
      return isDamaged ? .success(error.message) : .failure(error)
    }
  }
}
