import ArgumentParser
import Cairn

/// Which datastore a command works on.
struct StoreOptions: ParsableArguments {
  @Option(name: .long, help: "Directory of the datastores (default: $CAIRN_ROOT or ./cairn-data).")
  var root: String?

  @Option(name: .long, help: "Id of the datastore.")
  var datastore = "default"

  @Option(
    name: .long,
    help: "Shared directory where devices meet; links the datastores of this root. Remembered.")
  var folder: String?

  @Option(name: .long, help: "Who the user is in the folder. Remembered.")
  var user: String?

  @Option(name: .long, help: "standard (10 MiB a datastore) or large (16 GiB). Remembered.")
  var limits: LimitsChoice?

  var rootPath: String { root ?? Descriptor.environment("CAIRN_ROOT") ?? "cairn-data" }

  /// The options given here over those remembered.
  func settings() throws -> Settings {
    var settings = try Settings(root: rootPath)
    if let folder { settings.folder = try Descriptor.absolute(folder) }
    if let user { settings.user = user }
    if let limits { settings.limits = limits }
    if settings.folder != nil, settings.user == nil {
      settings.user = Descriptor.environment("USER") ?? "me"
    }
    for value in [settings.folder, settings.user] {
      if let value, value.isEmpty || value.contains(where: \.isNewline) {
        throw ToolError.usage("--folder and --user hold one line of text each")
      }
    }
    return settings
  }

  /// Remembers the options for the next call, once they have proved to work.
  private func remember() throws {
    let settings = try settings()
    if try settings != Settings(root: rootPath) { try settings.save(root: rootPath) }
  }

  /// Runs `body` on the datastore and closes it. It is made only if `creating`.
  func withDatastore<R>(creating: Bool = false, _ body: (Datastore) throws -> R) throws -> R {
    let datastore = try open(creating: creating)
    let result: R
    do {
      result = try body(datastore)
    } catch {
      // The first error says more than what closing might add.
      do { try datastore.close() } catch {}
      throw error
    }
    try datastore.close()
    return result
  }

  /// The open datastore, for commands that wait for something.
  func open(creating: Bool) throws -> Datastore {
    let manager = try manager(creating: creating)
    let datastore =
      creating
      ? try manager.openOrCreateDatastore(datastore) : try manager.openDatastore(datastore)
    for note in datastore.recoveryNotes { Console.error("cairn: mended at opening: \(note)") }
    try remember()
    return datastore
  }

  private func manager(creating: Bool) throws -> DatastoreManager {
    guard creating || Descriptor.isDirectory(rootPath) else {
      throw ToolError.notFound("there are no datastores in \(rootPath); see --root")
    }
    let settings = try settings()
    var options = Options()
    options.limits = (settings.limits ?? .standard).limits
    let account = settings.folder.map {
      Account(user: settings.user ?? "me", folder: .directory($0))
    }
    return try DatastoreManager(root: rootPath, account: account, options: options)
  }
}
