internal import CairnDisk
internal import CairnLog

/// The root of a linked account. Somebody else may have unlinked the account, and nobody here has
/// noticed: then the root is not made anew.
struct AccountRoot: Sendable {
  let path: String
  let id: UInt64
  /// The list of accounts.
  let list: String
  let machine: Machine
  /// Has the account manager look at the list: it shuts down the managers of accounts that are
  /// linked no more.
  let look: @Sendable () -> Void

  /// Whether the root is missing because the account was unlinked. A list that was lost, or can't
  /// be read, says nothing.
  var isGone: Bool {
    do throws(DiskError) { if try machine.disk.info(path) != nil { return false } } catch {
      // Whoever makes the root hears of it.
      return false
    }
    do throws(LogError) {
      let limit = AccountsFile.bytesMax
      guard let bytes = try DurableFile.read(list, limit: limit, disk: machine.disk) else {
        return false
      }
      return try AccountsFile(bytes, path: list).entry(id) == nil
    } catch { return false }
  }
}
