import ArgumentParser
import Cairn

/// Which datastore's files to look at; its contents are not opened.
struct InspectionOptions: ParsableArguments {
  @Option(name: .long, help: "Directory of the datastores (default: $CAIRN_ROOT or ./cairn-data).")
  var root: String?

  @Option(
    name: .customLong("datastore"),
    help: "Id of the datastore (default: the only one that is here, else default).")
  var named: String?

  var datastore: String {
    if let named { return named }
    let here = Doctor.ids(in: rootPath)
    return here.count == 1 ? here[0] : "default"
  }

  var rootPath: String { Descriptor.root(root) }

  func validate() throws { try Descriptor.checkRoot(root) }

  func inspector() throws -> DatastoreInspector {
    guard Descriptor.isDirectory(rootPath) else {
      throw ToolError.notFound("there are no datastores in \(rootPath); see --root")
    }
    do { return try DatastoreInspector(root: rootPath, id: datastore) } catch {
      // Its own directory may be there, with nothing in it.
      let id = datastore
      throw error.naming(Doctor.ids(in: rootPath).filter { $0 != id })
    }
  }
}
