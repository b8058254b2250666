import Cairn
import CairnDisk
import TestSupport
import Testing

/// An app is told that a commit is not durable, and not that something may be tried again.
@Suite struct SyncFailureTests {
  @Test(arguments: [DiskError.Reason.io(errno: 5), .noSpace, .readOnly])
  func `a sync that the disk fails says so, whatever the disk says`(
    reason: DiskError.Reason
  ) throws {
    let bench = IdentityBench()
    let datastore = try bench.open("a")
    try datastore.add("durable")
    bench.disk("a").intercept { $0.verb == "sync" ? reason : nil }
    let error = failure { try datastore.add("not-durable") }
    #expect(error?.code == .syncFailed)
    #expect(error?.file?.contains("/log/") == true)
    bench.disk("a").heal()
    #expect(code { try datastore.add("later") } == .syncFailed)
    #expect(code { try datastore.close() } == .syncFailed)
    #expect(try bench.open("a").ids().contains("durable"))
  }
}
