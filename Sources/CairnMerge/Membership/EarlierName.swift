package import CairnBytes

/// A name that a device has left to give way to a cut: its deltas up to `common` were there for
/// all, those behind it are there once more under the next name.
package struct EarlierName: Hashable, Sendable {
  package var name: DeviceID
  package var next: DeviceID
  package var common: UInt64

  package init(_ name: DeviceID, next: DeviceID, common: UInt64) {
    self.name = name
    self.next = next
    self.common = common
  }

  /// The next name (8 bytes), then `common` as a varint.
  package var encoded: [UInt8] {
    var out: [UInt8] = []
    out.put(next.rawValue)
    out.putVarint(common)
    return out
  }

  package init(_ name: DeviceID, _ bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    self.name = name
    next = DeviceID(rawValue: try reader.u64())
    common = try reader.counter()
    guard reader.isAtEnd else { throw .malformed("bytes after a name") }
  }
}

extension CutBook {
  /// The names that a device has had, the latest first.
  package func earlierNames(of device: DeviceID) -> [EarlierName] {
    var names: [EarlierName] = []
    var name = device
    func before() -> EarlierName? {
      earlierNames.values.filter { $0.next == name }.min { $0.name < $1.name }
    }
    while let found = before(), !names.contains(found) {
      names.append(found)
      name = found.name
    }
    return names
  }

  /// Whether nothing is to come any more under a name: its device has left it, and so many of its
  /// deltas are here. What it had written behind these is there under the next name, and nobody
  /// mends files under this one.
  package func hasLeft(_ device: DeviceID, with last: UInt64) -> Bool {
    earlierNames[device].map { last >= $0.common } ?? false
  }

  /// What a delta is called by those who have seen `seen`: its device may have left the name that
  /// it was written under, and have written it once more.
  package func presentName(of dot: Dot, seen: VersionVector) -> Dot {
    var (found, left) = (dot, 0)
    while !seen.contains(found), let name = earlierNames[found.device],
      found.sequence > name.common, left < earlierNames.count
    {
      found = Dot(device: name.next, sequence: found.sequence - name.common)
      left += 1
    }
    return found
  }

  /// What a delta is called, and what it may have been called before, under names that its device
  /// has left.
  package func earlierNames(of dot: Dot) -> [Dot] {
    var dots = [dot]
    var index = 0
    while index < dots.count, dots.count <= earlierNames.count {
      let dot = dots[index]
      for name in earlierNames.values where name.next == dot.device {
        dots.append(Dot(device: name.name, sequence: name.common &+ dot.sequence))
      }
      index += 1
    }
    return dots
  }

  /// A name under which some of a device's deltas would be there twice, or not at all, if it gave
  /// way to a cut with this seal; nil if all are there once. The seal's group has to have exactly
  /// what was not written once more.
  package func ambiguousName(of device: DeviceID, seal: VersionVector) -> EarlierName? {
    earlierNames(of: device).first { seal[$0.name] != $0.common }
  }
}
