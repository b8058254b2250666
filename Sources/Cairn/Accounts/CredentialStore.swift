/// Where credentials are kept. `FileCredentialStore` is the default; on a system with a keychain an
/// app may give its `AccountManager` a store of its own that uses it.
///
/// Calls come from any thread, one at a time for one account. Errors must not contain secrets.
public protocol CredentialStore: Sendable {
  /// The credentials of the account with this id, nil if there are none.
  func credentials(for id: String) throws(CairnError) -> Credentials?

  /// Keeps credentials for the account with this id, in the place of what it had.
  func setCredentials(_ credentials: Credentials, for id: String) throws(CairnError)

  /// Forgets the credentials of the account with this id; fine if there are none.
  func removeCredentials(for id: String) throws(CairnError)
}
