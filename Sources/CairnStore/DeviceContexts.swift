import CairnBytes
package import CairnMerge

/// What each device had seen at its last delta, sorted by device.
///
/// Not a dictionary: it is filled whenever a store is opened, and before its first dictionary of a
/// kind of key the runtime searches the whole program for how such keys are hashed. That takes as
/// long as fetching the first record does.
package struct DeviceContexts: Equatable, Sendable {
  package struct Entry: Equatable, Sendable {
    package var device: DeviceID
    package var seen: VersionVector
  }

  package private(set) var entries: [Entry] = []

  package init() {}

  /// Nil if nothing is known of the device.
  package subscript(device: DeviceID) -> VersionVector? {
    get {
      let index = lowerBound(device)
      return index < entries.count && entries[index].device == device ? entries[index].seen : nil
    }
    set {
      let index = lowerBound(device)
      let isKnown = index < entries.count && entries[index].device == device
      switch (isKnown, newValue) {
      case (true, let seen?): entries[index].seen = seen
      case (true, nil): entries.remove(at: index)
      case (false, let seen?): entries.insert(Entry(device: device, seen: seen), at: index)
      case (false, nil): break
      }
    }
  }

  /// Of devices that are in both, what either says.
  package func merged(with other: DeviceContexts) -> DeviceContexts {
    var result = self
    for entry in other.entries {
      result[entry.device] = result[entry.device]?.merged(with: entry.seen) ?? entry.seen
    }
    return result
  }

  /// The index of the first entry that is not below `device`.
  private func lowerBound(_ device: DeviceID) -> Int {
    entries.partitionPoint { $0.device >= device }
  }
}

extension DeviceContexts: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (DeviceID, VersionVector)...) {
    for (device, seen) in elements { self[device] = seen }
  }
}
