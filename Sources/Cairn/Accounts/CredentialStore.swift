/// Where credentials are kept. `FileCredentialStore` is the default; on a system with a keychain an
/// app may give its `AccountManager` a store of its own that uses it.
///
/// Calls come from any thread, several at a time, for one account too: each open datastore asks for
/// itself. Errors must not contain secrets.
///
/// A store asks the `AccountManager` that it belongs to, and that one's accounts, nothing. While it
/// keeps something the list of accounts is held, so that all other threads and processes that ask
/// for it wait, and the store would wait for itself; while it removes something, whoever unlinks
/// another account waits. For their sake it is quick, too, and asks no user.
public protocol CredentialStore: Sendable {
  /// The credentials of the account with this id, nil if there are none.
  func credentials(for id: String) throws(CairnError) -> Credentials?

  /// Keeps credentials for the account with this id, in the place of what it had: all of them, or
  /// it throws. Called by `AccountManager.link`, before the account is in the list.
  func setCredentials(_ credentials: Credentials, for id: String) throws(CairnError)

  /// Forgets the credentials of the account with this id; fine if there are none. Called by
  /// `LinkedAccount.unlink`, by the next start if that was interrupted, and by
  /// `AccountManager.link` if an account could not be put into the list after they were kept.
  func removeCredentials(for id: String) throws(CairnError)
}
