package import CairnBytes
package import CairnDisk

/// What can be wrong with the files of a log, and where.
package struct LogError: Error, Equatable, Sendable {
  package enum Reason: Equatable, Sendable {
    /// The disk refused; nothing is known to be wrong with the bytes.
    case disk(DiskError)
    /// Bytes that were once durable are damaged.
    case corrupt
    /// The file ends before it should.
    case truncated
    /// The file is none of this kind, or belongs to another datastore, device or place.
    case foreign
    /// The file says that readers older than this format version must not touch it.
    case needsNewerVersion(UInt16)
    /// A length beyond the format's hard bounds.
    case limit
    /// An earlier write or sync of this file failed; it takes no more.
    case poisoned
    /// A file that is named elsewhere is not there.
    case missing
  }

  package var reason: Reason
  package var path: String
  package var offset: UInt64?
  package var detail: String

  package init(_ reason: Reason, _ path: String, at offset: UInt64? = nil, _ detail: String) {
    self.reason = reason
    self.path = path
    self.offset = offset
    self.detail = detail
  }

  package init(_ error: DiskError) {
    self.init(.disk(error), error.path, "\(error)")
  }

  /// Places a decoding error in a file.
  package init(_ error: DecodeError, _ path: String, at offset: UInt64, _ what: String) {
    let reason: Reason
    let why: String
    switch error {
    case .truncated: (reason, why) = (.truncated, "it ends too early")
    case .overlongVarint: (reason, why) = (.corrupt, "a number is not in its shortest form")
    case .limit: (reason, why) = (.limit, "a length or count is beyond the bounds")
    case .malformed(let rule): (reason, why) = (.corrupt, rule.description)
    case .newer(let rule):
      reason = .needsNewerVersion(FormatVersion.current + 1)
      why = "\(rule.description): written by a newer version; update the app"
    }
    self.init(reason, path, at: offset, "\(what): \(why)")
  }
}

extension LogError: CustomStringConvertible {
  package var description: String {
    if case .disk(let error) = reason { return "\(error)" }
    let place = offset.map { " at offset \($0)" } ?? ""
    return "\(path)\(place): \(detail)"
  }
}
