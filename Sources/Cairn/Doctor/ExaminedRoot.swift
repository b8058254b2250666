internal import CairnDisk
internal import CairnLog
internal import CairnMerge

/// A root under examination: what all of its checks share. Nothing here changes a file.
struct ExaminedRoot: Sendable {
  let root: String
  let account: Account?
  let folder: (any Folder)?
  let machine: Machine
  /// What every command line needs besides: the tool has no other way to know an app's account.
  var options: [String] = []
  /// The same for following anew, which forgets what it was followed with.
  var followOptions: [String] = []
  /// CATALOGUE; nil if there is none or it can't be read.
  var installation: InstallationFile?
  /// FOLLOWING, likewise.
  var following: FollowFile?

  var disk: any Disk { machine.disk }

  /// A command line on this root.
  func command(_ words: String?...) -> String {
    ShellLine.of(["cairn"] + words.compactMap(\.self) + place + options)
  }

  /// A command line on a datastore of it.
  func command(_ word: String, on id: String, _ more: String...) -> String {
    command([word], on: id, more)
  }

  func command(_ words: [String], on id: String, _ more: [String] = []) -> String {
    ShellLine.of(
      ["cairn"] + words + ShellLine.option("--datastore", id) + more + place + options)
  }

  /// The command that ends what is followed here. It takes no folder.
  var unfollow: String { ShellLine.of(["cairn", "unfollow"] + place) }

  /// The same, and what brings all of it anew. Only the first where that can't be told.
  var followAgain: String {
    guard let following, let folder = account?.folder.text else { return unfollow }
    var words =
      following.id == "default" ? [] : ShellLine.option("--datastore", following.id)
    switch following.tables {
    case .all: break
    case .only(let names): words += names.sorted().flatMap { ShellLine.option("--table", $0) }
    case .except(let names):
      words += names.sorted().flatMap { ShellLine.option("--except-table", $0) }
    }
    let again = ShellLine.naming(folder, words + place + followOptions)
    return unfollow + " && " + ShellLine.of(["cairn", "follow"] + again)
  }

  /// What brings anew what is followed where nobody knows any more what was chosen, in words: no
  /// command to be pasted. What ends it forgets the folder, too.
  var followAnew: String {
    let words = place + followOptions
    let line =
      account.map { ShellLine.of(["cairn", "follow"] + ShellLine.naming($0.folder.text, words)) }
      ?? "cairn follow FOLDER " + ShellLine.of(words)
    return line + ", with --datastore, --table and --except-table as before"
  }

  private var place: [String] { ShellLine.option("--root", root) }

  /// A command line that names a datastore without an option.
  func command(_ word: String, of id: String) -> String {
    ShellLine.of(["cairn", word] + ShellLine.naming(id, place + options))
  }

  /// What is in a directory; nothing if it is not there.
  func list(_ directory: String) throws(DiskError) -> [DirectoryEntry] {
    do { return try disk.list(directory) } catch {
      if error.reason == .notFound { return [] }
      throw error
    }
  }

  /// The same where what can't be listed is found by another check: nothing then.
  func listed(_ directory: String) -> [DirectoryEntry] {
    do { return try list(directory) } catch { return [] }
  }

  /// The copy of what is followed, or of what was; nil if there is none.
  var followed: String? {
    let isThere = listed(root).contains {
      $0.name == FileName.followed && $0.info.kind == .directory
    }
    return isThere ? root + "/" + FileName.followed : nil
  }

  /// The datastores that are here, sorted by id: directories that are named after one and have any
  /// of its files.
  func datastores() -> [ExaminedDatastore] {
    var result: [ExaminedDatastore] = []
    for entry in listed(root) where entry.info.kind == .directory {
      guard let (id, generation) = FileName.generation(directory: entry.name),
        Identifier.isValidDatastore(id)
      else { continue }
      result.append(
        ExaminedDatastore(
          id: id, generation: generation, directory: root + "/" + entry.name,
          name: entry.name, root: self))
    }
    if let following, let followed {
      result.append(
        ExaminedDatastore(
          id: following.id, generation: following.generation, directory: followed,
          name: FileName.directory(
            datastore: following.id, generation: following.generation),
          root: self, isFollowed: true))
    }
    return result.sorted { ($0.id, $0.generation) < ($1.id, $1.generation) }
  }
}

extension Doctor {
  /// The ids of the datastores that have files in a root, sorted; that of what is followed there.
  package static func ids(in root: String) -> [String] {
    var examined = ExaminedRoot(root: root, account: nil, folder: nil, machine: .real)
    _ = FollowingCheck.run(&examined)
    return Set(examined.datastores().map(\.id)).sorted()
  }
}
