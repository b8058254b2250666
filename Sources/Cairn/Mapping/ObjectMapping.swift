internal import CairnMerge

/// What becomes of one table of objects: nothing outside of this device, the same records in a
/// datastore that syncs, or records of another shape.
///
/// A mapping is a pure description. Its functions may be called at any time, more often than
/// objects change, and have to give the same answer for the same arguments: a queue that survives
/// the app asks them again. They run inside of the object store and must not wait for it.
///
/// Arrays and sets without items are left out of records that are inserted, as by
/// `TypedTable.insert`, and an absent one reads as empty.
public struct ObjectMapping: Sendable {
  /// Decides what is still to be uploaded when another device's change meets pending ones.
  public typealias MergeHandler = @Sendable (inout ObjectMerge) -> Void

  /// The route of mappings that name no other.
  public static let mainRoute = "main"

  /// The table of the objects, on this device.
  public let table: String
  /// The table of their records, in each datastore that they are routed to; nil if the objects stay
  /// on this device.
  public let recordTable: String?

  let shape: @Sendable (ObjectFields, ObjectPlace, MappingPass) throws(CairnError) -> ShapedObject?
  let absorb:
    @Sendable (ObjectFields, ObjectFields?, ObjectPlace) throws(CairnError) -> ObjectFields?
  let prepare: @Sendable (Datastore) throws(CairnError) -> Void
  let resolve: MergeHandler?
  /// Whether objects and records have the same fields.
  private(set) var isSynced = false

  /// Objects that stay on this device: durable like all others, and never in anything that is
  /// published.
  public static func local<Object: TableModel>(_ object: Object.Type) -> ObjectMapping {
    ObjectMapping(
      table: Object.table, recordTable: nil,
      shape: { (_, _, _) throws(CairnError) in nil },
      absorb: { (_, _, _) throws(CairnError) in nil },
      prepare: { _ throws(CairnError) in }, resolve: nil)
  }

  /// Objects that are records as they are, under the same ids in a table of the same name.
  ///
  /// - Parameters:
  ///   - object: The type of the objects.
  ///   - merge: What to do when another device's change meets pending ones; without it the field's
  ///     rule decides.
  ///   - route: Which datastore an object's record is in; nil for one that stays on this device. It
  ///     should follow from what syncs, so that other devices route alike.
  public static func synced<Object: TableModel>(
    _ object: Object.Type, merge: MergeHandler? = nil,
    route: @escaping @Sendable (Object) throws(CairnError) -> String? = { _ throws(CairnError) in
      ObjectMapping.mainRoute
    }
  ) -> ObjectMapping {
    var mapping = ObjectMapping(
      object, as: Object.self,
      map: { object, _ throws(CairnError) in
        guard let name = try route(object) else { return nil }
        return MappedRecord(object, route: name)
      },
      update: { object, record, _ throws(CairnError) in object = record }, merge: merge)
    mapping.isSynced = true
    return mapping
  }

  /// Objects whose records have another shape.
  ///
  /// - Parameters:
  ///   - object: The type of the objects, on this device.
  ///   - shared: The type of their records. Its rules for fields that have none yet are set where
  ///     the records are; ``Table/setRule(_:field:)`` changes one, also for a new
  ///     ``MappingVersion``.
  ///   - map: The record of an object and its route; nil for an object that stays on this device.
  ///     It says all of the record: what of it has changed is found out by comparing.
  ///   - update: Makes an object what a record says; given are the record and the id of the
  ///     object. The object is nil if there is none yet, and if it still is after the call, the
  ///     record is left alone. What the record does not say, such as properties of this device
  ///     only, should stay.
  ///   - merge: What to do when another device's change meets pending ones; without it the field's
  ///     rule decides.
  public init<Object: TableModel, Shared: TableModel>(
    _ object: Object.Type, as shared: Shared.Type,
    map: @escaping @Sendable (Object, MappingPass) throws(CairnError) -> MappedRecord<Shared>?,
    update: @escaping @Sendable (inout Object?, Shared, RecordID) throws(CairnError) -> Void,
    merge: MergeHandler? = nil
  ) {
    let objects = ModelCoder<Object>(table: Object.table)
    let records = ModelCoder<Shared>(table: Shared.table)
    self.init(
      table: Object.table, recordTable: Shared.table,
      shape: { fields, place, pass throws(CairnError) in
        let object = try objects.decode(fields.inOrder, place.object)
        guard let mapped = try map(object, pass) else { return nil }
        return ShapedObject(try records.encode(mapped.record, place.record), route: mapped.route)
      },
      absorb: { record, now, place throws(CairnError) in
        let shared = try records.decode(record.inOrder, place.record)
        var object = try now.map { fields throws(CairnError) in
          try objects.decode(fields.inOrder, place.object)
        }
        // What the object's type does not know of its own table stays.
        let before = try object.map { object throws(CairnError) in
          try objects.encode(object, place.object)
        }
        try update(&object, shared, place.object)
        guard let object else { return nil }
        let after = try objects.encode(object, place.object)
        return ObjectFields.changed(now ?? [:], from: before, to: after)
      },
      prepare: { datastore throws(CairnError) in _ = try datastore.table(of: Shared.self) },
      resolve: merge)
  }

  private init(
    table: String, recordTable: String?,
    shape: @escaping @Sendable (
      ObjectFields, ObjectPlace, MappingPass
    ) throws(CairnError) -> ShapedObject?,
    absorb: @escaping @Sendable (
      ObjectFields, ObjectFields?, ObjectPlace
    ) throws(CairnError) -> ObjectFields?,
    prepare: @escaping @Sendable (Datastore) throws(CairnError) -> Void, resolve: MergeHandler?
  ) {
    self.table = table
    self.recordTable = recordTable
    self.shape = shape
    self.absorb = absorb
    self.prepare = prepare
    self.resolve = resolve
  }
}

/// A record that an object is mapped to, and the route that it takes.
public struct MappedRecord<Shared: Codable & Sendable>: Sendable {
  /// What the record shall be.
  public var record: Shared
  /// The datastore that it goes to, by the name that the object store knows it by.
  public var route: String

  /// A record on a route.
  public init(_ record: Shared, route: String = ObjectMapping.mainRoute) {
    self.record = record
    self.route = route
  }
}

/// Why a mapping is asked.
@nonexhaustive
public enum MappingPass: Hashable, Sendable {
  /// An object was changed, is to be uploaded, or to be compared with its record.
  case change
  /// The version of the mappings is a new one, or the mapping is, and its objects are enumerated.
  case population(info: [String: Value])
}

/// A version of an app's mappings.
///
/// When an object store is opened with another tag than the last time, and the first time, all
/// objects that sync are enumerated once, with the info, and what differs from their records is
/// queued; records that are no objects yet, or that could not be read, get another chance. For a
/// mapping that is new its own objects and records are looked at. Where object and record both have
/// a value of a field and nothing is pending of it, a record that changed since is what counts; a
/// field that only one of the two has gets its value in the other, if that can hold it. With the
/// same tag a mapping that was changed shows with the next change of each object.
public struct MappingVersion: Hashable, Sendable {
  /// Any text; only whether it is the same counts.
  public var tag: String
  /// Handed to the mappings while objects are enumerated.
  public var info: [String: Value]

  /// A version with what the mappings may want to know of it.
  public init(_ tag: String, info: [String: Value] = [:]) {
    self.tag = tag
    self.info = info
  }
}
