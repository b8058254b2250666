internal import CairnBytes
internal import CairnDisk
package import CairnLog
internal import CairnMerge

/// PUBLISHED: what this device knows of its own head in the folder. Written before the head is, so
/// that a head which comes back can be told to be ours.
///
///     "CAIRNEXC" · version u16 · floor u16 · zero u32 · folder u128 · confirmed nonce u64 ·
///     pending nonce u64 · head length u32 · zero u32 · the head's bytes · XXH3-64 of all before
package struct PublicationFile: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNEXC".utf8)
  private static let headerSize = 56

  /// Identity of the folder that everything was published in.
  var folder: UInt128
  var confirmedNonce: UInt64
  var pendingNonce: UInt64
  /// The head as it was last written, or was to be.
  package var head: [UInt8]

  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(PublicationFile.magic)
    out.put(folder)
    out.put(confirmedNonce)
    out.put(pendingNonce)
    out.put(UInt32(head.count))
    out.put(UInt32(0))
    out.append(contentsOf: head)
    SealedFile.seal(&out)
    return out
  }

  init(folder: UInt128, confirmedNonce: UInt64, pendingNonce: UInt64, head: [UInt8]) {
    self.folder = folder
    self.confirmedNonce = confirmedNonce
    self.pendingNonce = pendingNonce
    self.head = head
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    let size = PublicationFile.headerSize
    _ = try SealedFile.open(
      bytes, magic: PublicationFile.magic, least: size - SealedFile.headerSize,
      what: "a record of what was published", path: path,
      advice: "repair the datastore: the folder tells what is there")
    guard Int(bytes.u32(at: 48)) == bytes.count - size - 8 else {
      throw LogError(.corrupt, path, at: 48, "the length is wrong")
    }
    folder = UInt128(bytes.u64(at: 24)) << 64 | UInt128(bytes.u64(at: 16))
    confirmedNonce = bytes.u64(at: 32)
    pendingNonce = bytes.u64(at: 40)
    head = Array(bytes[size..<(bytes.count - 8)])
  }

  /// The file in a datastore's directory, for those who only want to know which folder it names;
  /// nil if it is not there or can't be read.
  static func readable(_ directory: String, disk: any Disk) -> PublicationFile? {
    let path = directory + "/" + FileName.publication
    do throws(LogError) {
      guard let bytes = try DurableFile.read(path, limit: Head.bytesMax * 2, disk: disk) else {
        return nil
      }
      return try PublicationFile(bytes, path: path)
    } catch { return nil }
  }
}
