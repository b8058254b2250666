import ArgumentParser
import Cairn

/// Which root a command works on, for commands that name their datastore themselves.
struct RootOptions: ParsableArguments {
  @Option(name: .long, help: "Directory of the datastores (default: $CAIRN_ROOT or ./cairn-data).")
  var root: String?

  @Option(name: .long, help: "Shared folder (default: the one the root was linked with).")
  var folder: String?

  @Option(name: .long, help: "File (mode 600) of a server's credentials; else the environment's.")
  var credentials: String?

  @Option(name: .long, help: "File (PEM) of certificates that are trusted besides the system's.")
  var certificates: String?

  @Option(
    name: .long,
    help: "Who the user is in the folder (default: as the root was linked, else $USER).")
  var user: String?

  var rootPath: String { Descriptor.root(root) }

  func validate() throws { try Descriptor.checkRoot(root) }

  /// The root's account, nil for a local one.
  func account() throws -> Account? {
    let settings = try Settings(root: rootPath)
    let place = try folder.map(FolderOption.normalized) ?? settings.folder
    return place.map {
      Account(
        user: user ?? settings.user ?? LinkageCheck.user(of: rootPath) ?? Settings.defaultUser,
        folder: FolderOption.location($0))
    }
  }

  /// What opens folders on servers.
  func folderKinds() throws -> [FolderKind] {
    let settings = try Settings(root: rootPath)
    return FolderOption.kinds(
      credentials: try credentials.map(Descriptor.absolute) ?? settings.credentials,
      certificates: try certificates.map(Descriptor.absolute) ?? settings.certificates)
  }

  /// - Parameter compacts: Whether closing a datastore may fold its log.
  func manager(compacts: Bool = true) throws -> DatastoreManager {
    guard Descriptor.isDirectory(rootPath) else {
      throw ToolError.notFound("there are no datastores in \(rootPath); see --root")
    }
    try FollowedRoot.refuse(rootPath)
    var options = Options()
    options.limits = (try Settings(root: rootPath).limits ?? .standard).limits
    options.compactsAutomatically = compacts
    options.folderKinds = try folderKinds()
    FolderOption.note(try folder.map(FolderOption.normalized) ?? Settings(root: rootPath).folder)
    return try DatastoreManager(root: rootPath, account: try account(), options: options)
  }
}
