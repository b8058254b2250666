import Cairn
import TestSupport
import Testing

/// Errors that a right program meets, since it is not alone.
@Suite(.timeLimit(.minutes(20))) struct ErrorKindTests {
  private let bench: FolderWorkbench

  init() throws { bench = try FolderWorkbench() }

  @Test func `a record that a merge deletes is no mistake of who changes it`() async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b")
    try await b.pull()
    let record = try b.table("t")["a"]
    #expect(try record.string("from") == "a")
    try a.table("t")["a"].delete()
    try a.sync()
    try await a.exchange()
    try await b.pull()
    for change in [
      { try record.set("text", "new") }, { try record.update(["text": "new"]) },
    ] as [() throws -> Void] {
      let error = failure(change)
      #expect(error?.code == .deleted && error?.isProgrammingError == false)
    }
  }

  @Test func `a list that others have made something else is no mistake of who edits it`()
    async throws
  {
    let a = try await bench.publisher("a")
    let b = try bench.open("b")
    try await b.pull()
    let list = try b.table("t")["a"].list("tags")
    try a.table("t")["a"].set("tags", "none")
    try a.sync()
    try await a.exchange()
    try await b.pull()
    let error = failure { try list.append("stones") }
    #expect(error?.code == .badType && error?.isProgrammingError == false)
  }

  @Test func `which errors say that the call was wrong`() {
    let wrong: [CairnError.Code] = [
      .closed, .badIndex, .illegalArgument, .sizeLimit, .invalidOperation,
    ]
    let others: [CairnError.Code] = [
      .deleted, .badType, .shutdown, .notFound, .exists, .alreadyOpen, .diskSpace, .auth,
      .retryLater, .corrupt, .needsNewerVersion, .syncFailed,
    ]
    for code in wrong { #expect(CairnError(code, "").isProgrammingError, "\(code)") }
    for code in others { #expect(!CairnError(code, "").isProgrammingError, "\(code)") }
  }
}
