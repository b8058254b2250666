internal import CairnDisk
internal import CairnLog

/// Where the root lies: neither in a shared folder nor in another root, nor the other way round. A
/// sync engine that copies a datastore's files copies half of what is being written.
enum PlaceCheck {
  static let name = "place"

  static func run(_ root: ExaminedRoot) -> [Finding] {
    do throws(DiskError) {
      guard let info = try root.disk.info(root.root) else {
        return [finding(root.root, "there is no such directory; check --root")]
      }
      guard info.kind == .directory || isLinkToDirectory(root) else {
        return [finding(root.root, "it is no directory; check --root")]
      }
      return try surroundings(root) + nested(root)
    } catch { return [finding(root.root, "\(error)")] }
  }

  /// Whether something else is in the place of the root.
  static func isNoDirectory(_ root: ExaminedRoot) -> Bool {
    do throws(DiskError) {
      guard let info = try root.disk.info(root.root) else { return false }
      return info.kind != .directory && !isLinkToDirectory(root)
    } catch { return false }
  }

  private static func isLinkToDirectory(_ root: ExaminedRoot) -> Bool {
    do throws(DiskError) { return try root.disk.list(root.root).count >= 0 } catch { return false }
  }

  private static func surroundings(_ root: ExaminedRoot) throws(DiskError) -> [Finding] {
    var findings: [Finding] = []
    let own = PathName.absolute(root.root)
    if case .directory(let path) = root.account?.folder {
      let folder = PathName.absolute(path)
      if own == folder || own.hasPrefix(folder + "/") || folder.hasPrefix(own + "/") {
        findings.append(
          finding(
            own, "the root and the shared folder \(folder) lie inside one another: the datastores' "
              + "files would be copied while they change. Close everything and move the root"))
      }
    }
    var place = own
    while let slash = place.lastIndex(of: "/"), slash > place.startIndex {
      place = String(place[..<slash])
      // Directories above may not be ours to look into.
      let names = Set(root.listed(place).map(\.name))
      if names.contains(FileName.folderIdentity), findings.isEmpty {
        findings.append(
          finding(
            own, "the root lies inside the shared folder \(place): the datastores' files would be "
              + "copied while they change. Close everything and move the root"))
      }
      if names.contains(FileName.installation) || names.contains(FileName.current) {
        findings.append(
          finding(own, "the root lies inside another root, \(place); move it", .warning))
      }
    }
    return findings
  }

  /// Roots below this one, which are none of its datastores.
  private static func nested(_ root: ExaminedRoot) throws(DiskError) -> [Finding] {
    var findings: [Finding] = []
    for entry in try root.list(root.root) where entry.info.kind == .directory {
      if entry.name == FileName.trash || FileName.generation(directory: entry.name) != nil
        || FileName.isTemporary(entry.name) || FileName.stagingToken(entry.name) != nil
      {
        continue
      }
      let path = root.root + "/" + entry.name
      guard isRoot(path, root) else { continue }
      findings.append(
        finding(path, "another root lies inside this one; move it elsewhere", .warning))
    }
    return findings
  }

  /// Whether a directory looks like a root of datastores.
  static func isRoot(_ path: String, _ root: ExaminedRoot) -> Bool {
    root.listed(path).contains { inner in
      if inner.name == FileName.installation { return true }
      guard FileName.generation(directory: inner.name) != nil else { return false }
      return root.listed(path + "/" + inner.name).contains { $0.name == FileName.current }
    }
  }

  private static func finding(
    _ path: String, _ message: String, _ severity: Finding.Severity = .error
  ) -> Finding {
    Finding(check: name, severity: severity, message: "\(path): \(message)", file: path)
  }
}
