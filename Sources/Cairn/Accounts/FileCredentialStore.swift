internal import CairnDisk
internal import CairnLog

/// Credentials in files that nobody but the user may read: one an account, mode 0600 from its first
/// moment on, in a directory of mode 0700. They are not encrypted.
///
/// A file that others can read, or that belongs to somebody else, is refused.
public struct FileCredentialStore: CredentialStore {
  /// The directory of the files.
  public let directory: String
  private let machine: Machine

  /// A store in a directory, which is made when it is first needed.
  public init(directory: String) { self.init(directory: directory, machine: .real) }

  init(directory: String, machine: Machine) {
    self.directory = directory
    self.machine = machine
  }

  private func path(_ id: String) throws(CairnError) -> String {
    guard FileName.secret(id) != nil else {
      throw CairnError(
        .illegalArgument, "\"\(id)\" is no id of an account: 16 hexadecimal digits", id: id)
    }
    return directory + "/" + id
  }

  /// - Throws: `disallowed` if others can read the file, `corrupt`, `needsNewerVersion`.
  public func credentials(for id: String) throws(CairnError) -> Credentials? {
    let path = try path(id)
    do throws(LogError) {
      let bytes = try DurableFile.read(
        path, limit: CredentialsFile.bytesMax, disk: machine.disk, isSecret: true)
      return try bytes.map { bytes throws(LogError) in
        try CredentialsFile.decode(bytes, path: path)
      }
    } catch { throw CairnError(error) }
  }

  /// Durable when it returns.
  ///
  /// - Throws: `illegalArgument` for those with a session token, which no file keeps; `sizeLimit`;
  ///   errors of the disk.
  public func setCredentials(_ credentials: Credentials, for id: String) throws(CairnError) {
    _ = try path(id)
    // Without its token the key opens nothing, and nobody would know why.
    guard credentials.sessionToken == nil else {
      throw CairnError(
        .illegalArgument,
        "a session token is not kept in a file: link without credentials and give a "
          + "CredentialSource in the folder's ServerSettings, or a CredentialStore that keeps it",
        id: id)
    }
    let bytes = CredentialsFile.encode(credentials)
    guard bytes.count <= CredentialsFile.bytesMax else {
      throw CairnError(
        .sizeLimit, "credentials of \(bytes.count) bytes; at most \(CredentialsFile.bytesMax)",
        id: id)
    }
    do { try machine.disk.createPrivateDirectory(directory) } catch { throw CairnError(error) }
    do {
      try DurableFile.replace(
        directory: directory, name: id, bytes: bytes, machine: machine, isSecret: true)
    } catch { throw CairnError(error) }
  }

  /// Durable when it returns. The bytes may stay on the medium for a while, as with any file.
  public func removeCredentials(for id: String) throws(CairnError) {
    let path = try path(id)
    do throws(DiskError) {
      guard try machine.disk.info(path) != nil else { return }
      try machine.disk.remove(path)
      try machine.disk.syncDirectory(directory)
    } catch {
      if error.reason != .notFound { throw CairnError(error) }
    }
  }
}
