import TestSupport
import Testing

@testable import Cairn

/// Nothing of accounts is written that could not be read again.
@Suite struct AccountSizeTests {
  @Test func `a list of accounts that is too long is refused, and stays what it was`() throws {
    let bench = try AccountWorkbench()
    let accounts = try bench.manager()
    let linked = try accounts.link(bench.account)
    let long = AccountInfo(userName: String(repeating: "n", count: AccountsFile.bytesMax))
    let error = failure { try linked.setInfo(long) }
    #expect(error?.code == .sizeLimit)
    #expect(error?.file == AccountWorkbench.directory + "/ACCOUNTS")
    #expect(linked.info == nil)
    let bob = Account(user: "bob", folder: bench.account.folder)
    #expect(code { _ = try accounts.link(bob, info: long) } == .sizeLimit)
    #expect(try accounts.linkedAccounts == [linked])
    #expect(try bench.manager(9).linkedAccounts.map(\.id) == [linked.id])
    // What can be read is taken.
    let most = AccountInfo(userName: String(long.userName.dropLast(1000)))
    try linked.setInfo(most)
    #expect(try bench.manager(11).linkedAccount?.info == most)
  }

  @Test func `credentials that are too long are refused, and nothing is linked with them`() throws {
    let bench = try AccountWorkbench()
    let accounts = try bench.manager()
    func token(_ count: Int) -> Credentials { .bearer(String(repeating: "t", count: count)) }
    let rest = CredentialsFile.encode(token(60_000)).count - 60_000
    let most = CredentialsFile.bytesMax - rest
    let error = failure {
      _ = try accounts.link(bench.account, credentials: token(most + 1))
    }
    #expect(error?.code == .sizeLimit && error?.message.contains("ttt") == false)
    #expect(try accounts.linkedAccounts.isEmpty)
    #expect(AccountWorkbench.files(bench.disk) == [])
    let linked = try accounts.link(bench.account, credentials: token(most))
    let again = code { _ = try accounts.link(bench.account, credentials: token(most + 1)) }
    #expect(again == .sizeLimit)
    #expect(try linked.credentials() == token(most))
    #expect(try bench.manager(9).linkedAccount?.credentials() == token(most))
  }
}
