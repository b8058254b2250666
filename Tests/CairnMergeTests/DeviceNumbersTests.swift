import Testing

@testable import CairnMerge

/// The numbers of devices in a scope.
@Suite struct DeviceNumbersTests {
  @Test(arguments: [0, 1, 15, 16, 17, 18, 5000])
  func `each device has the number that it was given`(count: Int) {
    let all = (0..<UInt64(count)).reversed().map { DeviceID(rawValue: 1000 + $0 * 7) }
    var added = DeviceNumbers()
    for device in all { added.add(device) }
    for numbers in [added, DeviceNumbers(all)] {
      #expect(numbers.count == count && numbers.devices == all)
      #expect(all.map(numbers.number) == Array(0..<count))
      #expect(numbers.number(DeviceID(rawValue: 1)) == nil)
    }
    added.removeAll()
    #expect(added.count == 0 && all.allSatisfy { added.number($0) == nil })
  }

  /// As in a scope of others that was read.
  @Test(arguments: [4, 40])
  func `of two numbers of a device the first one counts`(count: Int) {
    let one = (1...UInt64(count)).map(DeviceID.init(rawValue:))
    let numbers = DeviceNumbers(one + one)
    #expect(one.map(numbers.number) == Array(0..<count))
  }
}
