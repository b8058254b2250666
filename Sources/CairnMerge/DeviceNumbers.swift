/// Devices with the numbers that a scope gave them, in order.
///
/// Of a handful the first one that fits is found at once; but there may be thousands, and a file of
/// others may name each of them again and again.
struct DeviceNumbers: Sendable {
  private(set) var devices: [DeviceID]
  /// Of all devices once there are more than a few.
  private var numbers: [DeviceID: Int] = [:]

  private static let few = 16

  init() { devices = [] }

  init(_ devices: [DeviceID]) {
    self.devices = devices
    noteNew()
  }

  var count: Int { devices.count }

  /// The number of a device; nil if it has none. Of one that was named twice it is the first.
  @inline(__always)
  func number(_ device: DeviceID) -> Int? {
    if devices.count > DeviceNumbers.few { return numbers[device] }
    return devices.firstIndex(of: device)
  }

  /// Gives a device the next number.
  mutating func add(_ device: DeviceID) {
    devices.append(device)
    if devices.count > DeviceNumbers.few { noteNew() }
  }

  mutating func removeAll() {
    devices.removeAll(keepingCapacity: true)
    if !numbers.isEmpty { numbers.removeAll() }
  }

  private mutating func noteNew() {
    if devices.count <= DeviceNumbers.few { return }
    if !numbers.isEmpty {
      note(devices.count - 1)
    } else {
      for number in devices.indices { note(number) }
    }
  }

  private mutating func note(_ number: Int) {
    if numbers[devices[number]] == nil { numbers[devices[number]] = number }
  }
}
