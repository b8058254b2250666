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
    return isUnlinked
  }

  /// Whether the list, as far as it can be read, has the account no more.
  var isUnlinked: Bool { accounts.map { $0.entry(id) == nil } ?? false }

  /// The same, and nobody is left who would remove what is made in the root.
  var isForgotten: Bool {
    accounts.map { $0.entry(id) == nil && !$0.leaving.contains(id) } ?? false
  }

  /// What the list says; nil if it was lost, or can't be read.
  private var accounts: AccountsFile? {
    do throws(LogError) {
      return try DurableFile.read(list, limit: AccountsFile.bytesMax, disk: machine.disk).map {
        bytes throws(LogError) in try AccountsFile(bytes, path: list)
      }
    } catch { return nil }
  }
}
