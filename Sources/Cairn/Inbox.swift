internal import CairnBytes
internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// What was fetched and verified, and waits for a `sync()`. The files lie in the store's `inbox`;
/// they can be fetched again, so they are not synced, and verified once more when they are used.
struct Inbox: Sendable {
  struct Item: Sendable, Equatable {
    var name: String
    var device: DeviceID
    var first: UInt64
    var last: UInt64
    /// How many deletes its deltas state; nil until they were counted.
    var deletes: Int?
    /// Something in it may be about cuts: not known of what an earlier process has fetched.
    var mayHaveCuts = true
  }

  /// A whole state to start from, in the store's snapshot directory.
  struct Snapshot: Sendable {
    var path: String
    var vector: VersionVector
    /// XXH3-128 of its bytes.
    var content: UInt128
  }

  /// One that would delete too much at once: it waits for consent.
  struct HeldSnapshot: Sendable {
    var snapshot: Snapshot
    var massDelete: MassDelete
  }

  private let directory: String
  private let machine: Machine
  private(set) var items: [Item] = []
  var snapshot: Snapshot?
  /// The one that a sync is taking in: it is not here any more, and not yet in the store.
  private(set) var taking: Snapshot?
  /// Items that a sync could not use yet, by name: something before them is missing.
  var blocked: Set<String> = []
  /// Items that wait for nothing but a cut, by name, and which.
  private(set) var besideCuts: [String: Cut] = [:]
  /// Items in which a delta can't be what it says, by name, and why.
  private(set) var refused: [String: String] = [:]

  /// Items of devices that delete too much at once, by name: they wait for consent.
  var held: Set<String> = []
  /// All that was left when the last sync had judged what to hold, by name: as long as that is all
  /// there is, it need not be judged again.
  var judged: Set<String> = []

  var heldSnapshot: HeldSnapshot?
  /// Contents of all snapshots that were held since one is, or since anything else is held, of
  /// which they have a part: they are not fetched again.
  private(set) var heldContents: Set<UInt128> = []
  /// Likewise in earlier processes, which have not kept them: fetched again only where there are no
  /// deltas instead.
  private(set) var heldBefore: Set<UInt128> = []
  /// Records that snapshots have deleted since anything is held: they count with what is judged.
  var joinedDeletes = 0
  /// Items that went since the last sync has begun to judge what is here, by name, as the disk does
  /// not give them any more. What takes their place was not judged.
  private(set) var unread: Set<String> = []

  typealias Making = () throws(LogError) -> Void
  /// Makes files, unless the store has given its own back: the directory may be gone by then, and
  /// nobody would remove it a second time. Returns whether it did.
  var whileHeld: @Sendable (Making) throws(LogError) -> Bool = { make throws(LogError) in
    try make()
    return true
  }

  /// A snapshot that need not be fetched.
  var incoming: Snapshot? { snapshot ?? taking }

  mutating func beginTaking() -> Snapshot? {
    guard let next = snapshot else { return nil }
    (snapshot, taking) = (nil, next)
    return next
  }

  mutating func endTaking() { taking = nil }

  mutating func holdBack(_ content: UInt128) {
    guard heldContents.insert(content).inserted, !heldBefore.contains(content) else { return }
    saveHeld()
  }

  mutating func forgetHeldSnapshot() {
    heldSnapshot = nil
    forgetHeldContents()
  }

  mutating func forgetHeldContents() {
    if heldContents.isEmpty, heldBefore.isEmpty { return }
    (heldContents, heldBefore) = ([], [])
    saveHeld()
  }

  private func saveHeld() {
    // Best effort, as the file is.
    do throws(LogError) {
      _ = try whileHeld { () throws(LogError) in
        HeldFile(heldContents.union(heldBefore)).save(in: directory, machine)
      }
    } catch {}
  }

  /// Whether there is anything that a sync may be able to use.
  var hasNews: Bool { snapshot != nil || free.contains { !blocked.contains($0.name) } }

  /// Whether there is nothing at all, nor was at the last sync.
  var isEmpty: Bool {
    items.isEmpty && snapshot == nil && heldSnapshot == nil && held.isEmpty && judged.isEmpty
  }

  /// Items that wait for nobody's consent.
  var free: [Item] { held.isEmpty ? items : items.filter { !held.contains($0.name) } }

  mutating func note(deletes: Int, of item: Item) {
    guard let index = items.firstIndex(where: { $0.name == item.name }) else { return }
    items[index].deletes = deletes
  }

  init(directory: String, machine: Machine) throws(LogError) {
    self.directory = directory
    self.machine = machine
    do throws(DiskError) {
      guard try machine.disk.info(directory) != nil else { return }
      let isOurs = { (name: String) in
        FileName.published(name) != nil || FileName.isTemporary(name)
      }
      for entry in try machine.disk.list(directory, only: isOurs) {
        if let name = FileName.published(entry.name) {
          items.append(
            Item(
              name: entry.name, device: DeviceID(rawValue: name.device), first: name.first,
              last: name.last))
        } else if FileName.isTemporary(entry.name) {
          // What stays is nobody's, and tried again by the next opening.
          do { try machine.disk.remove(directory + "/" + entry.name) } catch {}
        }
      }
      items.sort { ($0.device, $0.first) < ($1.device, $1.first) }
      heldBefore = HeldFile.read(directory, machine)
    } catch { throw LogError(error) }
  }

  /// False, and nothing is there, once the store has given its files back.
  @discardableResult
  mutating func add(_ item: Item, _ bytes: [UInt8]) throws(LogError) -> Bool {
    let (directory, machine) = (self.directory, self.machine)
    let isKept = try whileHeld { () throws(LogError) in
      do throws(DiskError) {
        if try machine.disk.info(directory) == nil { try machine.disk.createDirectory(directory) }
      } catch { throw LogError(error) }
      try DurableFile.replace(
        directory: directory, name: item.name, bytes: bytes, machine: machine, durable: false)
    }
    guard isKept else { return false }
    items.removeAll { $0.name == item.name }
    items.append(item)
    // Here anew: what kept it back may have been its bytes.
    blocked.remove(item.name)
    return true
  }

  /// A sync begins to judge all that is here.
  mutating func beginJudging() -> [Item] {
    unread = []
    return items
  }

  /// Says nothing of the file: this process lacks something just now, or the device is locked.
  static func isPassing(_ error: DiskError) -> Bool {
    // ENOMEM, on every system.
    [.tooManyOpen, .withheld, .io(errno: 12)].contains(error.reason)
  }

  /// One that the disk does not give goes at once, so that it is fetched anew: as long as it counts
  /// as here it never would be, and nothing behind it could be used.
  mutating func read(_ item: Item, datastore: UInt128) throws(LogError) -> PublishedSegment {
    do throws(LogError) { return try segment(of: item, datastore) } catch {
      if case .disk(let disk) = error.reason, disk.reason != .notFound, !Inbox.isPassing(disk) {
        remove(item)
        unread.insert(item.name)
      }
      throw error
    }
  }

  private func segment(
    of item: Item, _ datastore: UInt128
  ) throws(LogError) -> PublishedSegment {
    let path = directory + "/" + item.name
    let limit = PublishedSegment.fileBytesMax
    guard let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) else {
      throw LogError(.missing, path, "it was fetched, but is gone; it will be fetched again")
    }
    let segment = try PublishedSegment(bytes, name: path, datastore: datastore)
    guard segment.device == item.device.rawValue, segment.first == item.first,
      segment.last == item.last
    else {
      throw LogError(
        .foreign, path, at: 24, "another file is in its place; it will be fetched again")
    }
    return segment
  }

  /// What is known of the devices whose deltas are in the store or here, and of nothing else. If
  /// what was saved is from before a switch, so is what is here: it goes, and is fetched anew.
  mutating func histories(_ saved: Histories, of store: Store) -> Histories {
    var histories = saved
    if histories.rejoinings != store.rejoinings {
      // The switch is durable, while this is not: of histories that may have lost.
      for item in items { remove(item) }
      histories = Histories()
      histories.rejoinings = store.rejoinings
    }
    let vector = store.vector
    for device in histories.marks.keys {
      histories.cut(device, after: reach(device, from: vector[device]))
    }
    return histories
  }

  /// What was found out of an item: the cut that holds it, or why it is refused.
  mutating func note(_ name: String, beside cut: Cut?, refusal: String?) {
    guard items.contains(where: { $0.name == name }) else { return }
    besideCuts[name] = cut
    refused[name] = refusal
  }

  /// Others have said more of what they have applied: what is held may go now. Returns whether
  /// there is any.
  mutating func lookAgain() -> Bool {
    let before = blocked.count
    blocked.subtract(besideCuts.keys)
    return blocked.count < before
  }

  mutating func remove(_ item: Item) {
    besideCuts[item.name] = nil
    refused[item.name] = nil
    items.removeAll { $0.name == item.name }
    // What stays behind is recognised as seen the next time.
    do { try machine.disk.remove(directory + "/" + item.name) } catch {}
  }

  /// How far a device's deltas are here without a gap, counting from `sequence`.
  func reach(_ device: DeviceID, from sequence: UInt64) -> UInt64 {
    var reach = sequence
    for item in items.filter({ $0.device == device }).sorted(by: { $0.first < $1.first })
    where item.first <= reach + 1 {
      reach = max(reach, item.last)
    }
    return reach
  }
}
