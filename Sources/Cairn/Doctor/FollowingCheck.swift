internal import CairnDisk
internal import CairnLog

/// What is followed in a root, and whether it is one thing or the other.
enum FollowingCheck {
  static let name = "following"

  /// Reads FOLLOWING into the root.
  static func run(_ root: inout ExaminedRoot) -> [Finding] {
    let path = root.root + "/" + FileName.following
    do throws(LogError) {
      let limit = FollowFile.bytesMax
      guard let bytes = try DurableFile.read(path, limit: limit, disk: root.disk) else {
        return leftover(root)
      }
      root.following = try FollowFile(bytes, path: path)
      return []
    } catch {
      var command: String? = root.unfollow
      var advice =
        ". What it was is not known any more: end it, and then follow it anew: \(root.followAnew)"
      switch error.reason {
      case .needsNewerVersion, .disk: (command, advice) = (nil, "")
      default: break
      }
      return [
        Finding(
          check: name, severity: .error,
          message: "\(error); what is followed here can't be opened" + advice, file: path,
          offset: error.offset, command: command)
      ]
    }
  }

  private static func leftover(_ root: ExaminedRoot) -> [Finding] {
    guard let path = root.followed else { return [] }
    return [
      Finding(
        check: name, severity: .note,
        message: "\(path): left behind by a subscription that was ended or begun, and interrupted; "
          + "nothing reads it", file: path, command: root.unfollow)
    ]
  }
}

extension ShellLine {
  /// What ends what is followed in a root and brings all of it anew; and what is to be done after
  /// that, in words, if nobody knows the folder or what was chosen: then it only ends it.
  ///
  /// - Parameters:
  ///   - folder: Where it is; nil if nobody knows.
  ///   - options: How that is reached.
  package static func followAgain(
    _ root: String, folder: FolderLocation?, _ options: [String]
  ) -> (line: String, then: String?) {
    var examined = ExaminedRoot(
      root: root, account: folder.map { Account(user: "", folder: $0) }, folder: nil,
      machine: .real, followOptions: options)
    _ = FollowingCheck.run(&examined)
    let line = examined.followAgain
    return (line, line == examined.unfollow ? examined.followAnew : nil)
  }
}
