import ArgumentParser
import Cairn

/// Which root a command works on, for commands that name their datastore themselves.
struct RootOptions: ParsableArguments {
  @Option(name: .long, help: "Directory of the datastores (default: $CAIRN_ROOT or ./cairn-data).")
  var root: String?

  @Option(name: .long, help: "Shared directory (default: the one the root was linked with).")
  var folder: String?

  var rootPath: String { root ?? Descriptor.environment("CAIRN_ROOT") ?? "cairn-data" }

  /// The root's account, nil for a local one.
  func account() throws -> Account? {
    let settings = try Settings(root: rootPath)
    let path = try folder.map(Descriptor.absolute) ?? settings.folder
    return path.map { Account(user: settings.user ?? "me", folder: .directory($0)) }
  }

  func manager() throws -> DatastoreManager {
    guard Descriptor.isDirectory(rootPath) else {
      throw ToolError.notFound("there are no datastores in \(rootPath); see --root")
    }
    var options = Options()
    options.limits = (try Settings(root: rootPath).limits ?? .standard).limits
    return try DatastoreManager(root: rootPath, account: try account(), options: options)
  }
}
