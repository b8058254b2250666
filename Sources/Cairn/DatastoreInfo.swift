internal import CairnMerge

/// A datastore in a list: what can be said without opening it.
public struct DatastoreInfo: Hashable, Sendable {
  /// The datastore's id.
  public var id: String
  /// Its title, nil if it has none or none is known yet. Titles of more than 1000 bytes are cut.
  public var title: String?
  /// When it was last changed, by the clock of the device that did; nil if nothing ever was in it
  /// or nothing is known yet.
  public var mtime: Timestamp?
  /// How many records it has, nil if that is not known yet.
  public var recordCount: Int?
  /// Its size by the accounting of `Limits`, nil if that is not known yet.
  public var size: Int?
  /// Whether there is a copy on this device. One that is not is fetched by the first exchange after
  /// it was opened.
  public var isOnDevice: Bool

  /// What the user may do in it, as far as this device knows: `Datastore.effectiveRole`.
  public var role = Role.owner
  /// Whether the user may change it.
  public var isWritable: Bool { role >= .editor }
  /// Whether others can be given access: its id starts with a dot.
  public var isShareable: Bool { id.hasPrefix(".") }

  init(id: String, view: CatalogueView?, isOnDevice: Bool) {
    self.id = id
    title = view?.title
    mtime = view?.modified.map(Timestamp.init(millisecondsSince1970:))
    recordCount = view.map { Int(clamping: $0.records) }
    size = view.map { Int(clamping: $0.size) }
    self.isOnDevice = isOnDevice
  }

  /// What a list's observers are told of: not each change of the contents.
  struct Face: Hashable {
    var id: String
    /// The bytes of the title.
    var title: [UInt8]?
    var isOnDevice: Bool
  }

  var face: Face {
    Face(id: id, title: title.map { Array($0.utf8) }, isOnDevice: isOnDevice)
  }

  /// Whether titles are the same bytes: `==` holds for others that mean the same characters, too.
  static func isSame(_ a: String?, _ b: String?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    return a.hasSameUTF8(as: b)
  }

  /// Whether all is the same. Titles are compared by their bytes, as values are.
  public static func == (a: DatastoreInfo, b: DatastoreInfo) -> Bool {
    a.face == b.face && a.mtime == b.mtime && a.recordCount == b.recordCount && a.size == b.size
      && a.role == b.role
  }

  /// Hashes a part of what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(face)
    hasher.combine(mtime)
  }
}
