import ArgumentParser
import Cairn

/// Which datastore's files to look at; its contents are not opened.
struct InspectionOptions: ParsableArguments {
  @Option(name: .long, help: "Directory of the datastores (default: $CAIRN_ROOT or ./cairn-data).")
  var root: String?

  @Option(name: .long, help: "Id of the datastore.")
  var datastore = "default"

  var rootPath: String { Descriptor.root(root) }

  func validate() throws { try Descriptor.checkRoot(root) }

  func inspector() throws -> DatastoreInspector {
    guard Descriptor.isDirectory(rootPath) else {
      throw ToolError.notFound("there are no datastores in \(rootPath); see --root")
    }
    return try DatastoreInspector(root: rootPath, id: datastore)
  }
}
