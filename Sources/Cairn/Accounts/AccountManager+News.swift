internal import CairnDisk
internal import Synchronization

/// What follows from a list that has changed, here or elsewhere.
extension AccountManager {
  struct News {
    var changes: [AccountChange] = []
    /// Managers of accounts that are linked no more.
    var closing: [DatastoreManager] = []
    /// Managers of accounts whose organisation may be another one now.
    var renamed: [(DatastoreManager, String?)] = []
  }

  /// Takes over a list that was read or written.
  func adopt(_ file: AccountsFile) -> News {
    state.withLock { state in
      let old = state.file
      var news = News()
      if old == file { return news }
      for entry in old.entries where file.entry(entry.id) == nil {
        let account = account(entry, &state)
        account.markUnlinked()
        state.accounts[entry.id] = nil
        if let manager = state.managers.removeValue(forKey: entry.id) {
          news.closing.append(manager)
        }
        news.changes.append(.unlinked(account))
      }
      for entry in file.entries {
        let known = old.entry(entry.id)
        // Linked again, it is the most recent one although it was there before.
        let isRecent = entry.id == file.entries.last?.id && entry.id != old.entries.last?.id
        if known == nil || isRecent && old.entries.last.map({ file.entry($0.id) }) != nil {
          news.changes.append(.linked(account(entry, &state)))
        }
        guard let known, known.info != entry.info else { continue }
        let account = account(entry, &state)
        account.update(entry.info)
        news.changes.append(.infoChanged(account))
        if let manager = state.managers[entry.id] {
          news.renamed.append((manager, entry.info?.orgName))
        }
      }
      state.file = file
      return news
    }
  }

  /// With nothing locked.
  func handle(_ news: News) {
    for manager in news.closing {
      // What its datastores had to say is not wanted any more.
      do throws(CairnError) { try manager.shutDown() } catch {}
    }
    for (manager, organization) in news.renamed { manager.setOrganization(organization) }
    announce(news.changes)
    if !news.closing.isEmpty {
      // Files that were in use here when another process unlinked the account.
      do throws(CairnError) { try removeLeaving() } catch {}
    }
  }

  func announce(_ changes: [AccountChange]) {
  }

  /// Looks at the list soon after another process has changed it, if the system can say so.
  func startWatching() {
    guard machine.disk is PosixDisk else { return }
    state.withLock { state in
      guard state.watcher == nil else { return }
      state.watcher = DirectoryWatcher(directory: directory) { [weak self] in
        // A hint: whoever asks next gets the error.
        do throws(CairnError) { _ = try self?.refresh() } catch {}
      }
    }
  }
}
