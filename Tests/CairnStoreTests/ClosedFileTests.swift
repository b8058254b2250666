import CairnLog
import CairnStore
import TestSupport
import Testing

/// The small files of a store that is closed may be somebody else's.
struct ClosedFileTests {
  @Test(arguments: [StoreError.Kind.closed, .deleted])
  func `none of them is replaced once the store is closed`(_ ending: StoreError.Kind) throws {
    let device = try StoreDevice(1)
    let (store, path) = (device.store, StoreDevice.directory + "/" + FileName.info)
    try store.replaceFile(FileName.info, [1])
    if ending != .closed { store.end(StoreError(ending, "it is over")) }
    try store.replaceFile(FileName.info, [2])
    try store.close()
    let error = #expect(throws: StoreError.self) { try store.replaceFile(FileName.info, [3]) }
    #expect(error?.kind == ending)
    #expect(device.disk.bytes(path) == [2])
    try device.open()
    try device.store.replaceFile(FileName.info, [4])
    #expect(device.disk.bytes(path) == [4])
  }
}
