internal import CairnBytes
package import CairnLog

/// One account's credentials as bytes. Errors say where, and never what.
///
///     "CAIRNKEY" · version u16 · floor u16 · zero u32 · kind u8 · name string, empty for a token ·
///     secret string · XXH3-64 of all before
package enum CredentialsFile {
  static let magic: [UInt8] = Array("CAIRNKEY".utf8)
  static let bytesMax = 64 << 10

  package static func encode(_ credentials: Credentials) -> [UInt8] {
    var out = SealedFile.begin(magic)
    switch credentials.kind {
    case .password: out.put(UInt8(1))
    case .bearer: out.put(UInt8(2))
    case .accessKey: out.put(UInt8(3))
    }
    out.putString(credentials.name ?? "")
    out.putString(credentials.secret)
    SealedFile.seal(&out)
    return out
  }

  package static func decode(_ bytes: [UInt8], path: String) throws(LogError) -> Credentials {
    var reader = try SealedFile.open(bytes, magic: magic, what: "credentials", path: path)
    do throws(DecodeError) {
      let kind = try reader.u8()
      let name = try reader.string()
      let secret = try reader.string()
      guard reader.isAtEnd else { throw .malformed("bytes follow the secret") }
      switch kind {
      case 1: return .password(user: name, password: secret)
      case 2: return .bearer(secret)
      case 3: return .accessKey(id: name, secret: secret)
      case 0: throw .malformed("a kind of 0")
      default: throw .newer("an unknown kind of credentials")
      }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "the credentials") }
  }
}
