internal import Cairn

/// Where a folder is in a bucket.
struct S3Address: Sendable {
  static let scheme = "s3"

  let origin: String
  let bucket: String
  let region: String
  /// Whether the bucket is in the path, and not in the host's name.
  let isPathStyle: Bool
  /// Before every name: empty, or with a slash at its end.
  let prefix: String

  init(_ text: String) throws(CairnError) {
    func wrong(_ what: String) -> CairnError {
      CairnError(
        .illegalArgument,
        "\(what); an address looks like s3://bucket/folder?endpoint=https://host&region=us-east-1")
    }
    let address = try ServerAddress(text)
    guard address.scheme == S3Address.scheme, address.port == nil else {
      throw wrong("this is no address of a bucket")
    }
    let names: Set<String> = ["endpoint", "region", "style"]
    if let unknown = address.query.keys.filter({ !names.contains($0) }).min() {
      throw wrong("\"\(unknown)\" means nothing in the address of a bucket")
    }
    guard (3...63).contains(address.host.utf8.count), !address.host.hasPrefix("["),
      address.host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) })
    else { throw wrong("a bucket's name has 3 to 63 of a-z, 0-9, dot, dash and underscore") }
    region = address.query["region"] ?? "us-east-1"
    guard !region.isEmpty, region.utf8.count <= 64,
      region.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
    else { throw wrong("the region has letters, digits and dashes") }
    prefix = address.path.map { $0 + "/" }.joined()
    let style = address.query["style"]
    guard style == nil || style == "path" || style == "host" else {
      throw wrong("style is path or host")
    }
    // No name of a host has an underscore, and a certificate for *.host is for no name with two
    // dots before that.
    let isHostName = !address.host.contains("_") && !address.host.contains(".")
    let host: String
    let start: String
    if let endpoint = address.query["endpoint"] {
      let server = try ServerAddress(endpoint)
      guard server.path.isEmpty, server.query.isEmpty,
        server.scheme == "https" || server.scheme == "http"
      else { throw wrong("an endpoint is https:// and a host") }
      guard server.scheme == "https" || server.isLoopback else {
        throw wrong("plain http reaches this machine itself only; use https://")
      }
      let isEncrypted = server.scheme == "https"
      start = server.scheme + "://"
      host = server.authority(isEncrypted: isEncrypted)
      isPathStyle = style != "host"
      // That would be a name in the DNS, and somebody else's machine.
      guard isPathStyle || isEncrypted else {
        throw wrong("plain http reaches this machine itself only, by style=path")
      }
    } else {
      (start, host) = ("https://", "s3.\(region).amazonaws.com")
      isPathStyle = style == nil ? !isHostName : style == "path"
    }
    bucket = isPathStyle ? S3Address.written(text) ?? address.host : address.host
    origin = start + (isPathStyle ? host : bucket + "." + host)
  }

  /// The bucket's name as it was given: in a path capitals are others, as some old buckets have
  /// them, and in the name of a host they are not.
  private static func written(_ text: String) -> String? {
    guard let mark = text.firstRange(of: "://") else { return nil }
    return String(text[mark.upperBound...].prefix { $0 != "/" && $0 != "?" })
  }

  /// The path of the bucket itself.
  var bucketPath: String { isPathStyle ? "/" + PercentCoding.encode(bucket) : "/" }

  func path(_ name: String) -> String {
    let key = PercentCoding.encode(prefix + name, keepingSlashes: true)
    return isPathStyle ? bucketPath + "/" + key : "/" + key
  }
}
