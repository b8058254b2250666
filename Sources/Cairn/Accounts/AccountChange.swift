/// Something that happened to the accounts of an `AccountManager`, here or elsewhere.
@nonexhaustive
public enum AccountChange: Hashable, Sendable {
  /// An account was linked, or linked again and is now the most recent one.
  case linked(LinkedAccount)
  /// An account was unlinked. Its manager is shut down.
  case unlinked(LinkedAccount)
  /// What is known of the account's user has changed.
  case infoChanged(LinkedAccount)

  /// The account that it happened to.
  public var account: LinkedAccount {
    switch self {
    case .linked(let account), .unlinked(let account), .infoChanged(let account): account
    }
  }
}

extension Array where Element == AccountChange {
  /// Adds what came later. Of one account the newest is enough, so that what nobody reads stays
  /// small; but who has not heard of an account is told that it was linked first.
  mutating func merge(_ later: [AccountChange]) {
    for change in later {
      if case .infoChanged(let account) = change, contains(where: { $0.account === account }) {
        continue
      }
      removeAll { $0.account === change.account }
      append(change)
    }
  }
}
