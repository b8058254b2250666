import Cairn
import CairnToolText
import TestSupport
import Testing

/// What `cairn repair` says of a folder, of which a directory shows only a part.
@Suite struct RepairLinesTests {
  /// What a dry run leaves out.
  private let dry = ["contents of attachments were not looked into"]

  private func repair(unread: [String] = []) -> FolderRepair {
    var repair = FolderRepair()
    (repair.checkedFiles, repair.checkedBytes) = (1, 200)
    repair.unread = unread
    return repair
  }

  @Test(arguments: [true, false])
  func `files that nobody has looked into are named, and not called right`(_ isDry: Bool) {
    let rest = isDry ? dry : []
    #expect(
      repair().lines(isDry: isDry)
        == ["the folder has what this device has published: 1 file of 200 bytes"] + rest)
    #expect(
      repair(unread: ["a.seg", "b.seg"]).lines(isDry: isDry) == [
        "what could be looked into of what this device has published is right: "
          + "1 file of 200 bytes",
        "not looked into: a.seg: its content is not here yet",
        "not looked into: b.seg: its content is not here yet",
      ] + rest)
  }

  @Test func `they are named where something else is lost, too`() {
    var repair = repair(unread: ["a.seg"])
    repair.missing = ["c.seg"]
    repair.written = ["c.seg"]
    let found = ["lost in the folder: c.seg", "not looked into: a.seg: its content is not here yet"]
    #expect(repair.lines(isDry: true) == found + dry)
    #expect(repair.lines(isDry: false) == found + ["written to the folder: c.seg"])
  }
}
