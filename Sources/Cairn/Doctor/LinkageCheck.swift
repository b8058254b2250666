internal import CairnDisk
internal import CairnLog
internal import CairnMerge

/// Datastores of an account in a root of which nobody knows the account: it was moved, or restored
/// without what was remembered beside it.
package enum LinkageCheck {
  static let name = "account"

  static func run(_ root: ExaminedRoot) -> [Finding] {
    guard root.account == nil else { return [] }
    return missing(root, linked(root)).map { message in
      [Finding(check: name, severity: .error, message: message, file: root.root)]
    } ?? []
  }

  private static func missing(_ root: ExaminedRoot, _ ids: [String]) -> String? {
    if ids.isEmpty { return nil }
    let what =
      "\(ids.joined(separator: ", ")) in \(root.root) "
      + "\(ids.count == 1 ? "belongs" : "belong") to an account"
    let place =
      (ids.contains("default") ? [] : ShellLine.option("--datastore", ids[0]))
      + ShellLine.option("--root", root.root)
    if let account = root.account {
      let options =
        ShellLine.option("--folder", account.folder.text)
        + ShellLine.option("--user", account.user)
      return what + " that an app is linked to, and it has to be named here: "
        + ShellLine.of(["cairn", "sync"] + options + place)
    }
    return what + ", and its shared folder is not known here: nothing of that can be opened or "
      + "exchanged. \(advice(root, place))"
  }

  /// How the account is told. No command to be pasted: nobody knows the folder.
  private static func advice(_ root: ExaminedRoot, _ place: [String]) -> String {
    let name = user(root)
    let who = name.map { ShellLine.of(ShellLine.option("--user", $0)) } ?? "--user USER"
    return "Name it once: cairn sync --folder FOLDER \(who) " + ShellLine.of(place)
      + (name == nil ? ", with the account's folder and user" : ", with the account's folder")
  }

  /// Those (or the one that is named) that belong to an account, as their own files have it, each
  /// once. What is followed is somebody else's.
  private static func linked(_ root: ExaminedRoot, only id: String? = nil) -> [String] {
    let found = root.datastores().filter { datastore in
      if datastore.isFollowed { return false }
      if let id, datastore.id != id { return false }
      do throws(LogError) {
        return try StoredLinkage.isLinked(
          datastore.directory, datastore: datastore.identity, disk: root.disk)
      } catch {
        // What can't be read another check says.
        return false
      }
    }
    return Set(found.map(\.id)).sorted()
  }

  /// As whom they were published; nil if none was.
  private static func user(_ root: ExaminedRoot) -> String? {
    for datastore in root.datastores() {
      let known = PublicationFile.readable(datastore.directory, disk: root.disk)
      guard let known, !known.head.isEmpty else { continue }
      do throws(LogError) {
        let head = try Head(
          known.head, name: FileName.publication, datastore: datastore.identity)
        if !head.user.isEmpty { return head.user }
      } catch {
        // What is damaged another check says.
      }
    }
    return nil
  }

  private static func examined(_ root: String) -> ExaminedRoot {
    ExaminedRoot(root: root, account: nil, folder: nil, machine: .real)
  }

  /// As whom the datastores of a root were published; nil if none was.
  package static func user(of root: String) -> String? { user(examined(root)) }

  /// What is to be said of a root without a folder whose datastores (or the one that is named)
  /// belong to an account; nil if they do not. Of an app's account its list says where that is.
  package static func missingFolder(_ root: String, id: String? = nil) -> String? {
    let place = ExaminedRoot(
      root: root, account: AccountsCheck.account(of: root, machine: .real), folder: nil,
      machine: .real)
    return missing(place, linked(place, only: id))
  }
}
