package import Cairn

extension FolderRepair {
  /// What `cairn repair` says of a look into the folder.
  package func lines(isDry: Bool) -> [String] {
    var lines = missing.map { "lost in the folder: \($0)" }
    lines += damaged.map { "damaged in the folder: \($0.name): \($0.reason)" }
    if wasWhole {
      let count = "\(counted(checkedFiles, "file")) of \(checkedBytes) bytes"
      lines.append(
        unread.isEmpty
          ? "the folder has what this device has published: \(count)"
          : "what could be looked into of what this device has published is right: \(count)")
    }
    lines += unread.map { "not looked into: \($0): its content is not here yet" }
    if isDry {
      lines.append("contents of attachments were not looked into")
    } else {
      lines += changes
    }
    lines += problems.map { "not mended in the folder: \($0)" }
    return lines + exchange.problems.map { "problem with \($0.name): \($0.reason)" }
  }

  private var changes: [String] {
    var lines = written.map { "written to the folder: \($0)" }
    lines += onlyInSnapshot.map { range in
      "only in a snapshot now: deltas \(range.first) to \(range.last)"
    }
    if publishedSnapshot { lines.append("a snapshot has what the files in the folder lack") }
    return lines
  }
}

/// A count with its noun: 1 record, 2 records.
package func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}
