internal import CairnBytes
internal import CairnDisk
package import CairnLog

/// Which snapshots were held back, since they delete too much at once, or would let in half of what
/// is held: the next process fetches the deltas instead, and not the same snapshot once more.
///
/// Kept in `inbox/HELD`. It need not be complete, nor durable: what is not known is fetched again.
///
///     "CAIRNHLD" · version u16 · floor u16 · zero u32 ·
///     contents (count; XXH3-128 u128, ascending) · XXH3-64 of everything before
package struct HeldFile: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNHLD".utf8)
  /// Contents that are noted.
  package static let most = 1024
  static let bytesMax = 32 << 10

  package private(set) var contents: Set<UInt128> = []

  package init(_ contents: Set<UInt128>) {
    self.contents = Set(contents.sorted().prefix(HeldFile.most))
  }

  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(HeldFile.magic)
    out.putVarint(contents.count)
    for content in contents.sorted() { out.put(content) }
    SealedFile.seal(&out)
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: HeldFile.magic, least: 1, what: "a list of held snapshots", path: path)
    do throws(DecodeError) {
      let count = try reader.count(minimumSize: 16)
      guard count <= HeldFile.most else { throw .malformed("too many contents") }
      var last: UInt128?
      for _ in 0..<count {
        let content = try reader.hash()
        if let last, content <= last { throw .malformed("contents out of order") }
        contents.insert(content)
        last = content
      }
      guard reader.isAtEnd else { throw .malformed("bytes after the last part") }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "held snapshots") }
  }

  /// Best effort: nothing was held then.
  static func read(_ directory: String, _ machine: Machine) -> Set<UInt128> {
    let path = directory + "/" + FileName.held
    do throws(LogError) {
      guard let bytes = try DurableFile.read(path, limit: bytesMax, disk: machine.disk) else {
        return []
      }
      return try HeldFile(bytes, path: path).contents
    } catch { return [] }
  }

  /// Likewise. Without contents there is no file.
  func save(in directory: String, _ machine: Machine) {
    let disk = machine.disk
    do {
      if contents.isEmpty {
        let path = directory + "/" + FileName.held
        if try disk.info(path) != nil { try disk.remove(path) }
        return
      }
      if try disk.info(directory) == nil { try disk.createDirectory(directory) }
      try DurableFile.replace(
        directory: directory, name: FileName.held, bytes: encoded(), machine: machine,
        durable: false)
    } catch {
      // As said.
    }
  }
}
