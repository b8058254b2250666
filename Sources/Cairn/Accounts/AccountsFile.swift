internal import CairnBytes
package import CairnLog

/// ACCOUNTS: which accounts are linked. Replaced as a whole.
///
///     "CAIRNACC" · version u16 · floor u16 · zero u32 · count · for each account, from least to
///     most recently linked: id u64 · user string · kind of folder u8 (1: a directory, 2: an
///     address of a server) · path or address string · info u8 ·
///     names · count · ids u64 of accounts whose files are being removed · XXH3-64 of all before
package struct AccountsFile: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNACC".utf8)
  static let bytesMax = 1 << 20
  private static let hasInfo: UInt8 = 1
  private static let hasOrganization: UInt8 = 2

  struct Entry: Equatable, Sendable {
    /// Random, never 0; the account's name on this device.
    var id: UInt64
    var account: Account
    var info: AccountInfo?

    /// Whether it says itself what opens its folder.
    var hasKind: Bool {
      if case .server(let folder) = account.folder { folder.kind != nil } else { false }
    }
  }

  /// From least to most recently linked.
  var entries: [Entry] = []
  /// Unlinked, but some of their files may be left.
  var leaving: [UInt64] = []

  init() {}

  func entry(_ id: UInt64) -> Entry? { entries.first { $0.id == id } }

  /// What opens a folder on a server is not in the file: whoever linked it here has said it.
  mutating func keepKinds(of old: AccountsFile) {
    for known in old.entries where known.hasKind {
      guard let index = entries.firstIndex(where: { $0.id == known.id }),
        !entries[index].hasKind, entries[index].account == known.account
      else { continue }
      entries[index].account = known.account
    }
  }

  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(AccountsFile.magic)
    out.putVarint(entries.count)
    for entry in entries {
      out.put(entry.id)
      out.putString(entry.account.user)
      switch entry.account.folder {
      case .directory(let path):
        out.put(UInt8(1))
        out.putString(path)
      case .server(let folder):
        out.put(UInt8(2))
        out.putString(folder.address)
      }
      guard let info = entry.info else {
        out.put(UInt8(0))
        continue
      }
      let organization = info.orgName == nil ? 0 : AccountsFile.hasOrganization
      out.put(AccountsFile.hasInfo | organization)
      out.putString(info.userName)
      if let name = info.orgName { out.putString(name) }
    }
    out.putVarint(leaving.count)
    for id in leaving { out.put(id) }
    SealedFile.seal(&out)
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: AccountsFile.magic, what: "a list of accounts", path: path)
    do throws(DecodeError) {
      for _ in 0..<(try reader.count(minimumSize: 12)) {
        entries.append(try AccountsFile.entry(&reader))
      }
      for _ in 0..<(try reader.count(minimumSize: 8)) { leaving.append(try reader.u64()) }
      guard reader.isAtEnd else { throw .malformed("bytes follow the last account") }
      let ids = entries.map(\.id) + leaving
      guard !ids.contains(0), Set(ids).count == ids.count else {
        throw .malformed("an id is 0 or there twice")
      }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "the list of accounts") }
  }

  private static func entry(_ reader: inout ByteReader) throws(DecodeError) -> Entry {
    let id = try reader.u64()
    let user = try reader.string()
    let kind = try reader.u8()
    let place = try reader.string()
    let folder: FolderLocation
    switch kind {
    case 1: folder = .directory(place)
    case 2: folder = .server(ServerFolder(place))
    default: throw .newer("an unknown kind of folder")
    }
    let flags = try reader.u8()
    guard flags & ~(hasInfo | hasOrganization) == 0 else { throw .newer("an unknown flag") }
    guard flags != hasOrganization else { throw .malformed("an organisation without a user") }
    var info: AccountInfo?
    if flags & hasInfo != 0 {
      info = AccountInfo(userName: try reader.string())
      if flags & hasOrganization != 0 { info?.orgName = try reader.string() }
    }
    return Entry(id: id, account: Account(user: user, folder: folder), info: info)
  }
}
