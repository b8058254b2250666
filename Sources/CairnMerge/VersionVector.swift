import CairnBytes

/// What a device has seen: for each device, how many of its deltas without a gap.
///
/// A datastore has a handful of devices, so a sorted array beats a dictionary in every way.
package struct VersionVector: Hashable, Sendable {
  /// The newest dot seen of each device, sorted by device; sequences are above 0.
  package private(set) var entries: ContiguousArray<Dot>

  package init() { entries = [] }

  /// The vector that has seen these dots and all earlier ones of the same devices.
  package init(_ dots: some Sequence<Dot>) {
    self.init()
    for dot in dots { insert(dot) }
  }

  package var isEmpty: Bool { entries.isEmpty }

  /// Whether no other device has been seen.
  package func isOnly(of device: DeviceID) -> Bool {
    entries.isEmpty || entries.count == 1 && entries[0].device == device
  }

  /// The highest sequence seen of a device, 0 if none. Setting 0 forgets the device.
  package subscript(device: DeviceID) -> UInt64 {
    get {
      // Mostly there is one device, or it is the last that is asked about.
      if let last = entries.last, last.device == device { return last.sequence }
      let index = lowerBound(device)
      guard index < entries.count, entries[index].device == device else { return 0 }
      return entries[index].sequence
    }
    set {
      let end = entries.count - 1
      if end >= 0, newValue > 0, entries[end].device == device {
        entries[end].sequence = newValue
        return
      }
      let index = lowerBound(device)
      let isKnown = index < entries.count && entries[index].device == device
      switch (isKnown, newValue) {
      case (true, 0): entries.remove(at: index)
      case (true, _): entries[index].sequence = newValue
      case (false, 0): break
      case (false, _): entries.insert(Dot(device: device, sequence: newValue), at: index)
      }
    }
  }

  /// True also for the dot of `Stamp.settled`, in every vector.
  package func contains(_ dot: Dot) -> Bool { dot.sequence <= self[dot.device] }

  /// True if everything that `other` has seen has been seen here.
  package func covers(_ other: VersionVector) -> Bool {
    other.entries.allSatisfy(contains)
  }

  /// The same, whatever `other` has seen of one device.
  package func covers(_ other: VersionVector, butFor device: DeviceID) -> Bool {
    for dot in other.entries where dot.device != device {
      if !contains(dot) { return false }
    }
    return true
  }

  /// Sees this dot and everything before it from the same device.
  package mutating func insert(_ dot: Dot) {
    // Mostly it is the last device, whose next delta it is.
    let end = entries.count - 1
    if end >= 0, entries[end].device == dot.device {
      if entries[end].sequence < dot.sequence { entries[end].sequence = dot.sequence }
    } else if !contains(dot) {
      self[dot.device] = dot.sequence
    }
  }

  /// Sees what `other` has seen, too.
  package mutating func merge(_ other: VersionVector) {
    for dot in other.entries { insert(dot) }
  }

  package func merged(with other: VersionVector) -> VersionVector {
    var result = self
    result.merge(other)
    return result
  }

  /// What both have seen.
  package func meet(_ other: VersionVector) -> VersionVector {
    var result = VersionVector()
    for dot in entries {
      let sequence = min(dot.sequence, other[dot.device])
      if sequence > 0 {
        result.entries.append(Dot(device: dot.device, sequence: sequence))
      }
    }
    return result
  }

  /// The index of the first entry that is not below `device`.
  private func lowerBound(_ device: DeviceID) -> Int {
    entries.partitionPoint { $0.device >= device }
  }
}

extension VersionVector: CustomStringConvertible {
  package var description: String {
    "{" + entries.map(\.description).joined(separator: ", ") + "}"
  }
}
