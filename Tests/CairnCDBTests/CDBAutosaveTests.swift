import Cairn
import CairnCDB
import CairnDisk
import TestSupport
import Testing

@Suite struct CDBAutosaveTests {
  private let disk = MemoryDisk()
  private let waits = ManualDelay()

  private func store(autosave: Duration = .zero) throws -> CDBStore<String, String> {
    var options = CDBOptions()
    options.autosaveInterval = autosave
    return try CDBStore.texts(disk, options: options, delay: waits.delay)
  }

  private func saved() throws -> [String: String] { try CDBStore.texts(disk).dictionary() }

  @Test func `saving soon is one save, however often it is asked for`() throws {
    let store = try store()
    store.saveSoon()
    try store.set("1", for: "a")
    store.saveSoon()
    store.saveSoon()
    #expect(waits.durations == [.milliseconds(50)])
    #expect(try saved() == [:])
    #expect(waits.wind() == 1)
    #expect(try saved() == ["a": "1"])
    #expect(waits.wind() == 0)
    store.saveSoon()
    #expect(waits.wind() == 1)
  }

  @Test func `without an interval nothing is saved by itself`() throws {
    let store = try store()
    try store.set("1", for: "a")
    #expect(waits.wind() == 0)
    #expect(store.hasChanges)
  }

  @Test func `changes are saved after the interval, and a wish for soon goes before`() throws {
    let store = try store(autosave: .seconds(30))
    try store.set("1", for: "a")
    try store.set("2", for: "b")
    #expect(waits.durations == [.seconds(30)])
    waits.wind()
    #expect(try saved() == ["a": "1", "b": "2"])
    try store.set("1", for: "a")
    #expect(waits.durations == [])
    try store.remove("a")
    #expect(waits.durations == [.seconds(30)])
    store.saveSoon()
    #expect(waits.durations == [.milliseconds(50)])
    waits.wind()
    #expect(try saved() == ["b": "2"])
  }

  @Test func `a background save that fails is told and tried again`() throws {
    let store = try store(autosave: .seconds(5))
    try store.set("1", for: "a")
    disk.failAt(operation: disk.operations + 1, reason: .noSpace)
    waits.wind()
    #expect(store.lastSaveFailure?.error.code == .diskSpace)
    #expect(store.changedKeys == ["a"])
    #expect(waits.durations == [.seconds(5)])
    waits.wind()
    #expect(store.lastSaveFailure == nil)
    #expect(try saved() == ["a": "1"])
  }

  @Test func `beside a file that somebody replaced nothing is written, however often it is tried`()
    throws
  {
    let store = try store(autosave: .seconds(5))
    try store.set("1", for: "a")
    let other = try self.store()
    try other.set("2", for: "b")
    try other.save()
    let before = disk.operations
    for _ in 0..<3 {
      #expect(waits.durations == [.seconds(5)])
      waits.wind()
      #expect(store.lastSaveFailure?.error.code == .disallowed)
      #expect(disk.operations == before)
    }
    try store.reload()
    waits.wind()
    #expect(store.lastSaveFailure == nil)
    #expect(try saved() == ["a": "1", "b": "2"])
  }

  @Test func `a close that fails is made up for after the interval`() throws {
    let store = try store(autosave: .seconds(5))
    try store.set("1", for: "a")
    disk.failAt(operation: disk.operations + 1, reason: .noSpace)
    let error = #expect(throws: CairnError.self) { try store.close() }
    #expect(error?.code == .diskSpace)
    #expect(waits.durations == [.seconds(5)])
    waits.wind()
    #expect(try saved() == ["a": "1"])
  }

  @Test func `closing ends what waits`() throws {
    let store = try store(autosave: .seconds(5))
    try store.set("1", for: "a")
    try store.close()
    #expect(waits.durations == [])
    store.saveSoon()
    #expect(waits.durations == [])
    try store.open()
    try store.set("2", for: "a")
    #expect(waits.durations == [.seconds(5)])
  }

  @Test func `by the clock`() async throws {
    let place = try TemporaryDirectory()
    var options = CDBOptions()
    options.saveSoonDelay = .milliseconds(1)
    let store = CDBStore<String, String>(
      place.path("s"), keys: .text, values: .text, options: options)
    try store.open()
    try store.set("1", for: "a")
    store.saveSoon()
    while store.hasChanges { try await Task.sleep(for: .milliseconds(2)) }
    #expect(try CDBFile(place.path("s")).value(for: CDBSample.bytes("a")) == [1, 0x31])
  }
}
