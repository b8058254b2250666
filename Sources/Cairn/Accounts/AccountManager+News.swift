internal import CairnDisk
internal import Synchronization

/// What follows from a list that has changed, here or elsewhere.
extension AccountManager {
  struct News: Sendable {
    var hasChanges = false
    /// Accounts that are not as they were.
    var changed: [LinkedAccount] = []
    /// Managers of accounts that are linked no more.
    var closing: [DatastoreManager] = []
    /// Managers of accounts whose organisation may be another one now.
    var renamed: [(manager: DatastoreManager, account: UInt64)] = []
    /// The list before: what it holds of the app's goes with nothing locked.
    var before: AccountsFile?
  }

  /// Takes over a list that was read or written.
  func adopt(_ file: AccountsFile) -> News {
    state.withLock { state in
      let old = state.file
      var news = News()
      news.before = old
      var file = file
      file.keepKinds(of: old)
      if old == file {
        // Equal, but an account that was linked again may be opened by something else.
        state.file = file
        return news
      }
      for entry in old.entries where file.entry(entry.id) == nil {
        let account = account(entry, &state)
        account.markUnlinked()
        state.accounts[entry.id] = nil
        if let manager = state.managers.removeValue(forKey: entry.id) {
          news.closing.append(manager)
        }
        state.changes.append(.unlinked(account))
        news.changed.append(account)
      }
      for entry in file.entries {
        let known = old.entry(entry.id)
        // Linked again, it is the most recent one although it was there before.
        let isRecent = entry.id == file.entries.last?.id && entry.id != old.entries.last?.id
        if known == nil || isRecent && old.entries.last.flatMap({ file.entry($0.id) }) != nil {
          state.changes.append(.linked(account(entry, &state)))
        }
        guard let known, known.info != entry.info else { continue }
        let account = account(entry, &state)
        account.update(entry.info)
        state.changes.append(.infoChanged(account))
        news.changed.append(account)
        if let manager = state.managers[entry.id] {
          news.renamed.append((manager, entry.id))
        }
      }
      state.file = file
      news.hasChanges = !state.changes.isEmpty
      return news
    }
  }

  /// With nothing locked.
  func handle(_ news: News) {
    for manager in news.closing {
      // What its datastores had to say is not wanted any more.
      do throws(CairnError) { try manager.shutDown() } catch {}
    }
    for (manager, account) in news.renamed {
      // Whoever comes last says what holds then, whatever it was told before.
      naming.withLock { _ in
        manager.setOrganization(state.withLock { $0.file.entry(account)?.info?.orgName })
      }
    }
    if news.hasChanges { announce() }
    for account in news.changed { account.announce() }
    if !news.closing.isEmpty {
      // Files that were in use here when another process unlinked the account.
      do throws(CairnError) { try removeLeaving() } catch {}
    }
  }

  private func announce() {
    // Taken under the broadcast's lock: in the order in which they happened.
    broadcast.send {
      state.withLock { state in
        defer { state.changes = [] }
        return state.changes.isEmpty ? nil : state.changes
      }
    }
    // Whoever comes later has missed what there was before.
    state.withLock { if !broadcast.isActive { $0.changes = [] } }
  }
}
