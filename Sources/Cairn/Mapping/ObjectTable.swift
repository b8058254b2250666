internal import CairnMerge
internal import CairnStore

/// The objects of one type, for reading from any thread. They are changed in `ObjectStore.write`.
public struct ObjectTable<Object: TableModel>: Sendable {
  private let table: TypedTable<Object>

  init(_ local: Datastore) throws(CairnError) {
    table = TypedTable(table: try local.table(Object.table))
  }

  /// An object, nil if there is none of that id.
  ///
  /// - Throws: `badType` if what is there is no `Object`; `illegalArgument` for a bad id.
  public func get(_ id: RecordID) throws(CairnError) -> Object? { try table.get(id) }

  /// The objects that a query finds, in its order; all of them without one.
  ///
  /// - Throws: `badType` if one of them is no `Object`; as `Table.query`.
  public func objects(_ query: Query = Query()) throws(CairnError) -> [StoredObject<Object>] {
    var result: [StoredObject<Object>] = []
    for record in try table.table.query(query) {
      guard let object = try table.get(record.id) else { continue }
      result.append(StoredObject(id: record.id, object: object))
    }
    return result
  }

  /// How many there are.
  public var count: Int {
    get throws(CairnError) { try table.count }
  }
}

/// An object with its id, as it was when it was read.
public struct StoredObject<Object: Codable & Sendable>: Identifiable, Sendable {
  /// Its id in its table.
  public let id: RecordID
  /// Its value.
  public let object: Object
}

extension StoredObject: Equatable where Object: Equatable {}
extension StoredObject: Hashable where Object: Hashable {}
