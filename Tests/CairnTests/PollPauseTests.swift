import Testing

@testable import Cairn

/// How long it is until the next look at a folder.
@Suite struct PollPauseTests {
  @Test func `a pause doubles up to the longest, and is the shortest after something has happened`()
  {
    let pause = PollPause(shortest: 1, longest: 5)
    for _ in 0..<2 {
      var seen = [pause.current]
      for _ in 0..<5 {
        pause.note(isIdle: true)
        seen.append(pause.current)
      }
      #expect(seen == [1, 2, 4, 5, 5, 5])
      pause.note(isIdle: false)
    }
    #expect(pause.current == 1)
    pause.note(isIdle: false)
    #expect(pause.current == 1)
  }

  @Test func `what is only waited for is nothing that has happened, to objects neither`() {
    var waiting = ExchangeReport()
    waiting.waiting = [ExchangeReport.Waiting(name: "a.head", bytes: 7, reason: "half of it")]
    var report = ObjectReport()
    report.exchanges["main"] = waiting
    #expect(!waiting.isIdle && !waiting.hasMoved && !report.hasMoved)
    let counts: [WritableKeyPath<ExchangeReport, Int>] = [
      \.publishedFiles, \.fetchedFiles, \.mergedFiles, \.publishedAttachments, \.fetchedAttachments,
    ]
    for count in counts {
      var moved = waiting
      moved[keyPath: count] = 1
      report.exchanges["main"] = moved
      #expect(moved.hasMoved && report.hasMoved)
    }
    report.exchanges["main"] = waiting
    report.changes = [SyncResult.Change(table: "notes", id: "n", isDeleted: false)]
    #expect(report.hasMoved)
  }
}
