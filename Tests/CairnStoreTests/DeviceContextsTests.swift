import CairnDisk
import CairnLog
import CairnMerge
import TestSupport
import Testing

@testable import CairnStore

struct DeviceContextsTests {
  private func vector(_ sequences: UInt64...) -> VersionVector {
    VersionVector(
      sequences.enumerated().map {
        Dot(device: DeviceID(rawValue: UInt64($0.offset + 1)), sequence: $0.element)
      })
  }

  private func device(_ number: UInt64) -> DeviceID { DeviceID(rawValue: number) }

  @Test func `they are sorted, whatever order they came in`() {
    let contexts: DeviceContexts = [
      device(7): vector(1), device(.max): vector(2), device(2): vector(3), device(7): vector(4),
    ]
    var devices: [DeviceID] = []
    contexts.forEach { device, _ in devices.append(device) }
    #expect(devices == [device(2), device(7), device(.max)])
    #expect(contexts[device(7)] == vector(4))
    #expect(contexts[device(3)] == nil)
  }

  @Test func `one that is set to nil is gone`() {
    var contexts: DeviceContexts = [device(1): vector(1), device(2): vector(2)]
    contexts[device(1)] = nil
    contexts[device(9)] = nil
    #expect(contexts == [device(2): vector(2)])
  }

  @Test func `merged they have seen what either had seen`() {
    let a: DeviceContexts = [device(1): vector(5, 1), device(2): vector(1)]
    let b: DeviceContexts = [device(1): vector(3, 4), device(3): vector(2)]
    let both: DeviceContexts = [
      device(1): vector(5, 4), device(2): vector(1), device(3): vector(2),
    ]
    #expect(a.merged(with: b) == both)
    #expect(b.merged(with: a) == both)
  }

  /// A snapshot of others may name any number of devices, each of which would have a row of numbers
  /// as long as all of them.
  @Test func `devices of a snapshot take up room only when they write`() throws {
    let dots = (1...40).map { Dot(device: device(UInt64($0)), sequence: 2) }
    var description = SnapshotDescription()
    description.vector = VersionVector(dots)
    for (index, dot) in dots.enumerated() {
      description.contexts[dot.device] = VersionVector(dots[...index])
    }
    let disk = MemoryDisk()
    try disk.setBytes(
      "/s.snap",
      try BlockSample.snapshot(
        [], datastore: StoreDevice.datastore, description: description))
    var state = StoreState(device: device(99), isAlone: false)
    state.adopt(
      try BaseSnapshot(
        number: 1, reader: try SnapshotReader("/s.snap", disk: disk), budget: 0))
    #expect(state.ground.stamps.allDevices == [device(99)])
    #expect(state.allContexts == description.contexts)
    let dependencies = state.dependencies()
    #expect(dependencies == dots)
    let next = Dot(device: device(20), sequence: 3)
    state.see(next, by: next.device)
    let numbered: [UInt64] = [99, 20] + Array(1...19)
    #expect(state.ground.stamps.allDevices == numbered.map(device))
    var contexts = description.contexts
    contexts[next.device]?.insert(next)
    #expect(state.allContexts == contexts)
  }
}
