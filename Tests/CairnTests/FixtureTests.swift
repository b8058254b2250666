import Cairn
import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Whole roots and folders as each version left them: this one opens them, shows the same, and goes
/// on working with them.
@Suite struct FixtureTests {
  private static let home = "Tests/Fixtures"
  private static let version = "v1"

  private static var versions: [String] {
    // Without any there is nothing to be tested, and a test says so.
    let names = (try? PosixDisk().list(ProjectFile.path(home)).map(\.name)) ?? []
    return names.filter { $0.wholeMatch(of: /v[0-9]+/) != nil }.sorted()
  }

  @Test func `this version has left something`() async throws {
    if unsafe getenv("CAIRN_WRITE_GOLDEN") != nil { try await Self.write() }
    #expect(Self.versions.contains(Self.version))
    var bytes: UInt64 = 0
    for version in Self.versions { bytes += try Self.size(Self.home + "/" + version) }
    #expect(bytes < 100_000, "they are in the repository for ever")
  }

  @Test(arguments: FixtureTests.versions)
  func `what a version left shows the same`(version: String) async throws {
    let place = try Self.copy(version)
    let text = try await Self.describe(place)
    #expect(text == String(decoding: try Self.expected(version), as: UTF8.self))
  }

  @Test(arguments: FixtureTests.versions)
  func `every byte of it is whole`(version: String) throws {
    let place = try Self.copy(version)
    for (root, id) in [("root", "notes"), ("root", "gone"), ("local", "default")] {
      let inspector = try DatastoreInspector(root: place.path(root), id: id)
      defer { inspector.close() }
      let report = try inspector.verify()
      #expect(report.problems == [] && report.deltas > 0)
    }
  }

  @Test(arguments: FixtureTests.versions)
  func `work goes on in it, and a new device gets all of it`(version: String) async throws {
    let place = try Self.copy(version)
    let manager = try Self.manager(place, "root")
    let notes = try manager.openDatastore("notes")
    #expect(notes.recoveryNotes == [])
    try notes.sync()
    try notes.table("t").insert(["by": "a later version"], id: "later")
    try notes.sync()
    for _ in 0..<2 {
      let report = try await notes.exchange()
      #expect(report.problems == [] && report.waiting == [])
      try notes.sync()
    }
    try notes.compact()
    let other = try Self.manager(place, "new").openOrCreateDatastore("notes")
    for _ in 0..<2 { try await other.pull() }
    #expect(try content(other) == content(notes))
    #expect(try other.table("t").record("later") != nil)
    #expect(try other.title == notes.title)
    try await manager.refresh()
    #expect(try manager.listDatastores().map(\.id).count == 3)
  }

  // MARK: what it shows

  private static func manager(_ place: TemporaryDirectory, _ root: String) throws
    -> DatastoreManager
  {
    try DatastoreManager(
      root: place.path(root),
      account: Account(user: "ann", folder: .directory(place.path("folder"))))
  }

  /// Everything that can be read, in lines.
  private static func describe(_ place: TemporaryDirectory) async throws -> String {
    var lines: [String] = []
    let local = try DatastoreManager(root: place.path("local"))
    try describe(try local.openDefaultDatastore(), "local", into: &lines)
    try local.shutDown()
    let manager = try manager(place, "root")
    for info in try manager.listDatastores() {
      let datastore = try manager.openDatastore(info.id)
      lines.append("datastore \(info.id): title \(info.title ?? "none")")
      try describe(datastore, "before", into: &lines)
      let roles = datastore.isShareable ? try datastore.listRoles() : [:]
      for (principal, role) in roles.map({ ("\($0)", "\($1)") }).sorted(by: { $0 < $1 }) {
        lines.append("  role of \(principal): \(role)")
      }
      for device in try await datastore.devices() {
        lines.append(
          "  device \(device.id) of \(device.user): \(device.publishedDeltas) published, "
            + "\(device.incorporatedDeltas) visible, \(device.files) files")
      }
      let result = try datastore.sync()
      lines.append("  incorporated \(result.incorporated)")
      try describe(datastore, "after", into: &lines)
    }
    try manager.shutDown()
    return lines.joined(separator: "\n") + "\n"
  }

  private static func describe(
    _ datastore: Datastore, _ when: String, into lines: inout [String]
  ) throws {
    lines.append(
      "\(when): title \(try datastore.title ?? "none"), \(datastore.recordCount) records, size "
        + "\(datastore.size)")
    for table in try datastore.tables() {
      var fields: Set<String> = []
      for record in try table.query().sorted(by: { $0.id < $1.id }) {
        lines.append("  \(table.id)/\(record.id)")
        for (field, value) in try record.fields.sorted(by: { $0.key < $1.key }) {
          lines.append("    \(field) = \(value)")
          fields.insert(field)
        }
      }
      for field in fields.sorted() {
        lines.append("  rule of \(table.id).\(field): \(table.rule(field: field))")
      }
    }
  }

  // MARK: files

  private static func expected(_ version: String) throws -> [UInt8] {
    try ProjectFile.bytes("\(home)/\(version)/content.txt")
  }

  private static func size(_ path: String) throws -> UInt64 {
    try PosixDisk().list(ProjectFile.path(path)).reduce(0) { sum, entry in
      if entry.info.kind != .directory { return sum + entry.info.size }
      return sum + (try size(path + "/" + entry.name))
    }
  }

  /// A copy that can be worked in.
  private static func copy(_ version: String) throws -> TemporaryDirectory {
    let place = try TemporaryDirectory()
    for part in ["root", "local", "folder"] {
      try copyTree(ProjectFile.path("\(home)/\(version)/\(part)"), to: place.path(part))
    }
    return place
  }

  private static func copyTree(_ from: String, to: String) throws {
    let disk = PosixDisk()
    try disk.createDirectory(to)
    for entry in try disk.list(from) {
      let (old, new) = (from + "/" + entry.name, to + "/" + entry.name)
      if entry.info.kind == .directory {
        try copyTree(old, to: new)
      } else {
        let file = try disk.open(old, .read)
        defer { file.close() }
        try put(new, try file.read(at: 0, count: Int(entry.info.size)))
      }
    }
  }

  private static func put(_ path: String, _ bytes: [UInt8]) throws {
    let file = try PosixDisk().open(path, .create)
    defer { file.close() }
    try file.write(bytes.span, at: 0)
  }

  /// This version's, unless they are there: what was released is never written anew.
  private static func write() async throws {
    let target = ProjectFile.path("\(home)/\(version)")
    if try PosixDisk().info(target) != nil { return }
    for (path, bytes) in try await FixtureWriter().files() {
      let directory = path.split(separator: "/").dropLast().joined(separator: "/")
      try PosixDisk().createDirectory(target + "/" + directory)
      try put(target + path, bytes)
    }
    let text = try await describe(try copy(version))
    try put(target + "/content.txt", Array(text.utf8))
  }
}
