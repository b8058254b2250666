import CairnMerge

/// The stamps that cells refer to by number, and the devices behind them.
struct StampTable {
  /// A write that every delta still to come has seen: no dot is kept.
  static let settled: UInt32 = 0
  /// A write that is not committed yet.
  static let pending: UInt32 = .max

  /// Stamp 1 and those behind it.
  private var stamps: [Stamp] = []
  private var deviceNumbers: [UInt32] = []
  /// Their ids.
  private var devices: [UInt64] = []
  /// The numbers of all devices once there are more than a few.
  private var numbers: [UInt64: Int] = [:]
  private var last: (stamp: Stamp, number: UInt32) = (.settled, 0)

  /// How many there are.
  var count: Int { stamps.count }

  /// The same devices under the same numbers, and no stamps.
  var emptied: StampTable {
    var next = StampTable()
    next.devices = devices
    next.numbers = numbers
    return next
  }

  /// So many are found one by one: most datastores have no more, and the first dictionary of a kind
  /// of key costs a program's start (see `DeviceContexts`). A snapshot may name any number.
  private static let fewDevices = 16

  mutating func device(_ id: DeviceID) -> Int {
    if let known = known(id) { return known }
    devices.append(id.rawValue)
    if devices.count > StampTable.fewDevices {
      for number in numbers.count..<devices.count { numbers[devices[number]] = number }
    }
    return devices.count - 1
  }

  /// The number of a device, if it has one.
  func known(_ id: DeviceID) -> Int? {
    if devices.count > StampTable.fewDevices { return numbers[id.rawValue] }
    for index in devices.indices where devices[index] == id.rawValue { return index }
    return nil
  }

  var allDevices: [DeviceID] { devices.map(DeviceID.init(rawValue:)) }

  /// The number of a stamp; the same one for calls in a row with the same stamp.
  mutating func add(_ stamp: Stamp) -> UInt32 {
    if stamp.isSettled { return StampTable.settled }
    if stamp == last.stamp { return last.number }
    stamps.append(stamp)
    let number = UInt32(stamps.count)
    deviceNumbers.append(UInt32(device(stamp.dot.device)))
    last = (stamp, number)
    return number
  }

  subscript(number: UInt32) -> Stamp {
    number == StampTable.settled ? .settled : stamps[Int(number) - 1]
  }

  /// Whether someone who has seen `seen[device number]` deltas of each device has seen this write.
  @inline(__always)
  func isSeen(_ number: UInt32, by seen: [UInt64]) -> Bool {
    if number == StampTable.settled { return true }
    let device = Int(deviceNumbers[Int(number) - 1])
    return device < seen.count && seen[device] >= stamps[Int(number) - 1].dot.sequence
  }
}
