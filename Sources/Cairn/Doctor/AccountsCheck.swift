internal import CairnDisk
internal import CairnLog

/// The list of linked accounts, and their secrets.
enum AccountsCheck {
  static let name = "accounts"

  /// The accounts in a directory; nil if it is not one of accounts.
  static func run(
    _ directory: String, machine: Machine
  ) -> (file: AccountsFile?, findings: [Finding])? {
    let path = directory + "/" + FileName.accounts
    do throws(LogError) {
      let limit = AccountsFile.bytesMax
      guard let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) else {
        return nil
      }
      let file = try AccountsFile(bytes, path: path)
      return (file, secrets(file, directory, machine) + leaving(file, directory))
    } catch {
      return (
        nil,
        [
          Finding(
            check: name, severity: .error,
            message: "\(error); no account can be used until it can be read. Restore it from a "
              + "backup, or remove it and link the accounts anew: datastores stay where they are",
            file: path, offset: error.offset)
        ]
      )
    }
  }

  /// Whose root a directory is, if it is one of an `AccountManager`'s.
  static func account(of root: String, machine: Machine) -> Account? {
    let parts = PathName.absolute(root).split(separator: "/")
    guard let name = parts.last else { return nil }
    let directory: String = parts.dropLast().map { "/" + $0 }.joined()
    do throws(LogError) {
      let bytes = try DurableFile.read(
        directory + "/" + FileName.accounts, limit: AccountsFile.bytesMax, disk: machine.disk)
      guard let bytes else { return nil }
      let file = try AccountsFile(bytes, path: directory + "/" + FileName.accounts)
      return file.entries.first { FileName.accountRoot($0.id) == name }?.account
    } catch {
      // A look at the directory itself says what is wrong with it.
      return nil
    }
  }

  private static func secrets(
    _ file: AccountsFile, _ directory: String, _ machine: Machine
  ) -> [Finding] {
    let store = FileCredentialStore(
      directory: directory + "/" + FileName.secrets, machine: machine)
    return file.entries.compactMap { entry in
      let id = FileName.hex(entry.id)
      do throws(CairnError) {
        _ = try store.credentials(for: id)
        return nil
      } catch {
        return Finding(
          check: name, severity: .error, message: error.message,
          file: store.directory + "/" + id, offset: error.offset)
      }
    }
  }

  private static func leaving(_ file: AccountsFile, _ directory: String) -> [Finding] {
    file.leaving.map { id in
      let path = directory + "/" + FileName.accountRoot(id)
      return Finding(
        check: name, severity: .note,
        message: "\(path): the account was unlinked; what is left of its files goes at the app's "
          + "next start", file: path)
    }
  }
}
