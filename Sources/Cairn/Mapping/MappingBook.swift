internal import CairnMerge

/// What an object store knows beside the objects: its queue, which object is which record where
/// that is not plain, and how far it has followed each route.
struct MappingBook: Sendable {
  /// How an object and a record belong together, where it is not by the mapping and the id.
  struct Link: Sendable, Equatable {
    /// The route that the record is on; nil for the one that the mapping says.
    var route: String?
    /// The record's id; nil for the object's.
    var record: RecordID?
    /// The object has no record, whatever the mapping says.
    var isDetached = false
  }

  /// A record of the table that goes with a table of objects.
  struct Address: Hashable, Sendable {
    var route: String
    var record: RecordID
  }

  /// How far the objects have followed a route.
  struct Following: Sendable, Equatable {
    /// What the datastore had incorporated when its records last became objects.
    var vector = VersionVector()
    /// The tables of which that holds.
    var mapped: Set<MappedTables> = []
    /// Those of which it did, before their mapping went away: their objects could not be changed
    /// since then.
    var absent: Set<MappedTables> = []
  }

  var outbox = OutboxBook()
  /// This store's name in the datastores that it writes to.
  var installation = RecordID.random()
  /// The version that all objects were last enumerated with.
  var version: String?
  var followed: [String: Following] = [:]
  private(set) var links: [RowKey: Link] = [:]
  /// The objects that have records of other ids, by table of objects and address.
  private var attached: [String: [Address: RowKey]] = [:]
  private(set) var changedLinks: Set<RowKey> = []
  var hasChangedState = false
  var changedRoutes: Set<String> = []
  /// Where records of objects are, as far as storage does not have it yet. There is one for each
  /// object that syncs, so they are read when they are needed.
  private(set) var homes: [RowKey: RecordPlace?] = [:]
  /// Records that are there and could not become objects, or what objects are; or whose objects
  /// stay on this device by their mapping since they have become what these say.
  private(set) var unread: Set<RecordPlace> = []
  private(set) var changedUnread: Set<RecordPlace> = []

  subscript(link key: RowKey) -> Link? {
    get { links[key] }
    set {
      if links[key] == newValue { return }
      load(newValue, of: key)
      changedLinks.insert(key)
    }
  }

  mutating func load(_ link: Link?, of key: RowKey) {
    if let old = links[key]?.address { attached[key.table]?[old] = nil }
    links[key] = link
    if let new = link?.address { attached[key.table, default: [:]][new] = key }
  }

  mutating func noteStored() {
    outbox.noteStored()
    changedLinks = []
    changedRoutes = []
    homes = [:]
    changedUnread = []
    hasChangedState = false
  }

  mutating func note(home place: RecordPlace?, of key: RowKey) {
    homes.updateValue(place, forKey: key)
  }

  mutating func load(unread place: RecordPlace) { unread.insert(place) }

  mutating func note(_ place: RecordPlace, isUnread: Bool) {
    if unread.contains(place) == isUnread { return }
    if isUnread { unread.insert(place) } else { unread.remove(place) }
    changedUnread.insert(place)
  }

  mutating func note(_ vector: VersionVector, followedOn route: String) {
    note(route) { $0.vector = vector }
  }

  mutating func note(_ route: String, _ change: (inout Following) -> Void) {
    var following = followed[route] ?? Following()
    change(&following)
    if followed[route] == following { return }
    followed[route] = following
    changedRoutes.insert(route)
  }

  func place(_ key: RowKey) -> ObjectPlace {
    ObjectPlace(object: key.id, record: links[key]?.record ?? key.id)
  }

  /// The object of a table that was attached to a record.
  func attached(to address: Address, of table: String) -> RowKey? { attached[table]?[address] }

  /// Whether no other object was attached to a record.
  func isFree(_ address: Address, for key: RowKey) -> Bool {
    attached(to: address, of: key.table).map { $0 == key } ?? true
  }

  /// The object that was attached to a record, or that was deleted with it, as long as that is
  /// pending; else the one of the same id. Nil if the one of the same id belongs to another record.
  func object(_ address: Address, _ tables: MappedTables) -> RowKey? {
    let table = tables.table
    if let key = attached[table]?[address] { return key }
    let place = RecordPlace(
      route: address.route, table: tables.recordTable, record: address.record)
    if let delete = outbox.delete(of: place), delete.object.table == table { return delete.object }
    let key = RowKey(table: table, id: address.record)
    guard let link = links[key] else { return key }
    if let record = link.record, record != address.record { return nil }
    if let route = link.route, route != address.route { return nil }
    return key
  }
}

extension MappingBook.Link {
  /// Where the record is, if the id or the route is another than the mapping would say.
  var address: MappingBook.Address? {
    guard let route, let record else { return nil }
    return MappingBook.Address(route: route, record: record)
  }
}
