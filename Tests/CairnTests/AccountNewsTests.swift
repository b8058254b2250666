import CairnDisk
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Who changes the list of accounts tells the managers when it is no longer held: others may have
/// changed it again by then.
@Suite struct AccountNewsTests {
  @Test func `an organisation is the last one, in whatever order managers are told`() throws {
    let bench = try AccountWorkbench()
    let accounts = try bench.manager()
    let ann = try accounts.link(bench.account)
    let manager = try accounts.manager(for: ann)
    var file = accounts.state.withLock { $0.file }
    file.entries[0].info = AccountInfo(userName: "Ann", orgName: "Quarry")
    let first = accounts.adopt(file)
    file.entries[0].info = AccountInfo(userName: "Ann", orgName: "Mill")
    let second = accounts.adopt(file)
    #expect(manager.organization.withLock { $0 } == nil)
    accounts.handle(second)
    #expect(manager.organization.withLock { $0 } == "Mill")
    accounts.handle(first)
    #expect(manager.organization.withLock { $0 } == "Mill")
    #expect(ann.info?.orgName == "Mill")
  }
}
