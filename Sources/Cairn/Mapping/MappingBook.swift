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

  var outbox = OutboxBook()
  /// This store's name in the datastores that it writes to.
  var installation = RecordID.random()
  /// The version that all objects were last enumerated with.
  var version: String?
  /// What each route's datastore had incorporated when its records last became objects.
  var followed: [String: VersionVector] = [:]
  private(set) var links: [ObjectKey: Link] = [:]
  /// The objects that have records of other ids, by table of objects and address.
  private var attached: [String: [Address: ObjectKey]] = [:]
  private(set) var changedLinks: Set<ObjectKey> = []
  var hasChangedState = false
  var changedRoutes: Set<String> = []

  subscript(link key: ObjectKey) -> Link? {
    get { links[key] }
    set {
      if links[key] == newValue { return }
      load(newValue, of: key)
      changedLinks.insert(key)
    }
  }

  mutating func load(_ link: Link?, of key: ObjectKey) {
    if let old = links[key]?.address { attached[key.table]?[old] = nil }
    links[key] = link
    if let new = link?.address { attached[key.table, default: [:]][new] = key }
  }

  mutating func noteStored() {
    outbox.noteStored()
    changedLinks = []
    changedRoutes = []
    hasChangedState = false
  }

  mutating func note(_ vector: VersionVector, followedOn route: String) {
    if followed[route] == vector { return }
    followed[route] = vector
    changedRoutes.insert(route)
  }

  func place(_ key: ObjectKey) -> ObjectPlace {
    ObjectPlace(object: key.id, record: links[key]?.record ?? key.id)
  }

  /// The object that was attached to a record; else the one of the same id. Nil if the one of the
  /// same id belongs to another record.
  func object(_ address: Address, table: String) -> ObjectKey? {
    if let key = attached[table]?[address] { return key }
    let key = ObjectKey(table: table, id: address.record)
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
