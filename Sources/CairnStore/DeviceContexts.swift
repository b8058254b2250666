import CairnBytes
package import CairnMerge

/// What each device had seen at its last delta, sorted by device.
///
/// Not a dictionary: it is filled whenever a store is opened, and before its first dictionary of a
/// kind of key the runtime searches the whole program for how such keys are hashed. That takes as
/// long as fetching the first record does. Nor an array of a kind of its own, for the same reason.
package struct DeviceContexts: Equatable, Sendable {
  private var devices: [UInt64] = []
  private var seen: [VersionVector] = []

  package init() {}

  package var count: Int { devices.count }

  package func forEach(_ body: (DeviceID, VersionVector) -> Void) {
    for index in devices.indices { body(DeviceID(rawValue: devices[index]), seen[index]) }
  }

  /// Nil if nothing is known of the device.
  package subscript(device: DeviceID) -> VersionVector? {
    get {
      let (index, isKnown) = place(device)
      return isKnown ? seen[index] : nil
    }
    set {
      let (index, isKnown) = place(device)
      switch (isKnown, newValue) {
      case (true, let new?): seen[index] = new
      case (true, nil):
        devices.remove(at: index)
        seen.remove(at: index)
      case (false, let new?):
        devices.insert(device.rawValue, at: index)
        seen.insert(new, at: index)
      case (false, nil): break
      }
    }
  }

  /// Changes what is known of a device where it lies, or what is known first.
  mutating func change(_ device: DeviceID, _ body: (inout VersionVector) -> Void) {
    let (index, isKnown) = place(device)
    if !isKnown {
      devices.insert(device.rawValue, at: index)
      seen.insert(VersionVector(), at: index)
    }
    body(&seen[index])
  }

  /// Of devices that are in both, what either says.
  package func merged(with other: DeviceContexts) -> DeviceContexts {
    var result = self
    other.forEach { device, seen in
      result[device] = result[device]?.merged(with: seen) ?? seen
    }
    return result
  }

  /// Where a device is, or belongs.
  private func place(_ device: DeviceID) -> (index: Int, isKnown: Bool) {
    let index = devices.partitionPoint { $0 >= device.rawValue }
    return (index, index < devices.count && devices[index] == device.rawValue)
  }
}

extension DeviceContexts: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (DeviceID, VersionVector)...) {
    for (device, seen) in elements { self[device] = seen }
  }
}
