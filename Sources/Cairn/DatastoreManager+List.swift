internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import Synchronization

extension DatastoreManager {
  /// The datastores that there are, on this device or in the account, sorted by id. Made without
  /// opening any and without the folder: `refresh()` asks that.
  ///
  /// Of an account's datastore it shows what the folder said last, and over that what was synced
  /// here and is not in the folder yet.
  public func listDatastores() throws(CairnError) -> [DatastoreInfo] {
    try checkUsable()
    return try list()
  }

  /// The same by id.
  public func datastoreInfos() throws(CairnError) -> [String: DatastoreInfo] {
    Dictionary(uniqueKeysWithValues: try listDatastores().map { ($0.id, $0) })
  }

  /// The list whenever it changes, the current one first: datastores come and go, get other titles,
  /// are fetched to this device or removed from it. What is written into them is no change of the
  /// list. Ends with `shutDown()`.
  public var datastoreChanges: Updates<[DatastoreInfo]> {
    Updates(of: listChanges.value) { [self] in currentList() }
  }

  /// Calls `handler` with the list now and whenever it changes, for as long as the observation is
  /// kept; `scheduler` decides where.
  public func observeDatastores(
    on scheduler: @escaping Scheduler, _ handler: @escaping @Sendable ([DatastoreInfo]) -> Void
  ) -> Observation {
    let current = { [self] in currentList() }
    return Observation(listChanges.value.subscribe(on: scheduler, current: current, handler))
  }

  /// Nil if it can't be made just now: there will be a next time.
  private func currentList() -> [DatastoreInfo]? {
    do throws(CairnError) { return try list() } catch { return nil }
  }

  /// To be called when the list may have changed.
  func noteList() { listChanges.send { currentList() } }

  private func list() throws(CairnError) -> [DatastoreInfo] {
    if let following {
      let open = state.withLock { $0.open[following.file.id] }
      return [
        try DatastoreFollower.info(
          following.file, root: root, known: open?.info.info, disk: machine.disk)
      ]
    }
    let known = isLocal ? InstallationFile() : try installation.read()
    let entries = known.merged
    var infos: [String: DatastoreInfo] = [:]
    for (id, entry) in entries where entry.view != nil {
      infos[id] = DatastoreInfo(id: id, view: entry.view, isOnDevice: false)
    }
    for copy in try copies() where copy.generation == entries[copy.id]?.generation ?? 0 {
      let info = try info(of: copy)
      let view = DatastoreManager.shown(info, inFolder: entries[copy.id]?.view)
      infos[copy.id] = DatastoreInfo(id: copy.id, view: view, isOnDevice: true)
      infos[copy.id]?.role = role(of: copy)
    }
    return infos.values.sorted { $0.id < $1.id }
  }

  /// The folder's view, under what is committed here and newer, or not published yet.
  private static func shown(_ local: InfoFile?, inFolder: CatalogueView?) -> CatalogueView? {
    guard let local else { return inFolder }
    guard var view = inFolder, local.view < view else { return local.view }
    if !DatastoreInfo.isSame(local.view.title, local.published?.title) {
      view.title = local.view.title
    }
    return view
  }

  // MARK: copies on this device

  /// The directory of one generation of a datastore in the root.
  struct Copy {
    var id: String
    var generation: UInt32
    var directory: String
  }

  /// All datastores in the root, those of generations that were deleted among them.
  func copies() throws(CairnError) -> [Copy] {
    var result: [Copy] = []
    for place in try places() where try isThere(root + "/" + place.directory) {
      result.append(place)
    }
    return result
  }

  /// The directories of the root that are named after a datastore, whatever is in them.
  func places() throws(CairnError) -> [Copy] {
    do throws(DiskError) {
      guard try machine.disk.info(root) != nil else { return [] }
      var result: [Copy] = []
      let entries = try machine.disk.list(
        root, only: { FileName.generation(directory: $0) != nil })
      for entry in entries where entry.info.kind == .directory {
        guard let (id, generation) = FileName.generation(directory: entry.name),
          Identifier.isValidDatastore(id)
        else { continue }
        result.append(Copy(id: id, generation: generation, directory: entry.name))
      }
      return result
    } catch { throw CairnError(error) }
  }

  /// What is known of a copy: by its open datastore, or else by its INFO file.
  func info(of copy: Copy) throws(CairnError) -> InfoFile? {
    let open = state.withLock { $0.open[copy.id] }
    if let open, open.generation == copy.generation { return open.info.info }
    return try InfoFile.read(root + "/" + copy.directory, disk: machine.disk)
  }
}
