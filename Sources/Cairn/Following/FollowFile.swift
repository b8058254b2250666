internal import CairnBytes
internal import CairnDisk
package import CairnLog
package import CairnMerge

/// FOLLOWING: what is followed in a root. Without it there is nothing, whatever else lies there.
///
///     "CAIRNFLW" · version u16 · floor u16 · zero u32 · folder u128 · generation varint ·
///     id string · choice u8 · [count varint · tables string each] · doubt u8 ·
///     XXH3-64 of all before
package struct FollowFile: Equatable, Sendable {
  package static let magic: [UInt8] = Array("CAIRNFLW".utf8)
  package static let bytesMax = 16 << 20

  /// Id of the datastore.
  package var id: String
  /// How often its id had been deleted when it was created.
  package var generation: UInt32
  /// Which folder it is in.
  package var folder: UInt128
  /// The tables that are wanted.
  package var tables: TableChoice
  /// The copy may have other tables than these: what it has of a table may lack what was said
  /// before. It has to be put together anew.
  package var isInDoubt: Bool

  package init(
    id: String, generation: UInt32, folder: UInt128, tables: TableChoice, isInDoubt: Bool = false
  ) {
    (self.id, self.generation) = (id, generation)
    (self.folder, self.tables) = (folder, tables)
    self.isInDoubt = isInDoubt
  }

  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(FollowFile.magic)
    out.put(folder)
    out.putVarint(UInt64(generation))
    out.putString(id)
    switch tables {
    case .all: out.put(UInt8(0))
    case .only(let names): FollowFile.put(1, names, into: &out)
    case .except(let names): FollowFile.put(2, names, into: &out)
    }
    out.put(UInt8(isInDoubt ? 1 : 0))
    SealedFile.seal(&out)
    return out
  }

  private static func put(_ choice: UInt8, _ names: Set<String>, into out: inout [UInt8]) {
    out.put(choice)
    out.putVarint(names.count)
    for name in names.sorted(by: precedes) { out.putString(name) }
  }

  private static func precedes(_ a: String, _ b: String) -> Bool {
    a.utf8.lexicographicallyPrecedes(b.utf8)
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: FollowFile.magic, least: 20, what: "a note of what is followed", path: path,
      advice: "unsubscribe, and subscribe again")
    do throws(DecodeError) {
      let folder = try reader.hash()
      let generation = try reader.varint()
      guard generation <= UInt64(CatalogueEntry.generationMax) else { throw .limit }
      let id = try reader.string()
      guard Identifier.isValidDatastore(id) else { throw .malformed("no id of a datastore") }
      let tables: TableChoice =
        switch try reader.u8() {
        case 0: .all
        case 1: .only(try FollowFile.names(&reader))
        case 2: .except(try FollowFile.names(&reader))
        default: throw .newer("another way to choose tables")
        }
      let isInDoubt: Bool =
        switch try reader.u8() {
        case 0: false
        case 1: true
        default: throw .newer("another state of the copy")
        }
      guard reader.isAtEnd else { throw .malformed("bytes after the state of the copy") }
      self.init(
        id: id, generation: UInt32(generation), folder: folder, tables: tables,
        isInDoubt: isInDoubt)
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "what is followed") }
  }

  private static func names(_ reader: inout ByteReader) throws(DecodeError) -> Set<String> {
    var names: Set<String> = []
    var last: String?
    for _ in 0..<(try reader.count(minimumSize: 2)) {
      let name = try reader.string()
      guard Identifier.isValidTable(name), last.map({ precedes($0, name) }) ?? true else {
        throw .malformed("tables out of order")
      }
      names.insert(name)
      last = name
    }
    return names
  }

  /// What is followed in a root; nil if nothing is.
  static func read(_ root: String, _ machine: Machine) throws(CairnError) -> FollowFile? {
    let path = root + "/" + FileName.following
    do throws(LogError) {
      guard let bytes = try DurableFile.read(path, limit: bytesMax, disk: machine.disk) else {
        return nil
      }
      return try FollowFile(bytes, path: path)
    } catch { throw CairnError(error) }
  }

  /// Durable when it returns.
  func write(_ root: String, _ machine: Machine) throws(CairnError) {
    do throws(LogError) {
      try DurableFile.replace(
        directory: root, name: FileName.following, bytes: encoded(), machine: machine)
    } catch { throw CairnError(error) }
  }
}
