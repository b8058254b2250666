import Cairn
import CairnCDB
import CairnDisk
import TestSupport
import Testing

/// What becomes of a save that fails, or that the power leaves.
@Suite struct CDBSaveTests {
  private static let before = ["a": "1", "b": "2", "c": "3"]
  private static let after = ["a": "10", "c": "3", "d": "4"]

  /// A disk with the file from before, and a store that is going to save.
  private func ready() throws -> (MemoryDisk, CDBStore<String, String>) {
    let disk = MemoryDisk()
    let first = try CDBStore.texts(disk)
    for (key, value) in Self.before.sorted(by: { $0.key < $1.key }) {
      try first.set(value, for: key)
    }
    try first.close()
    let store = try CDBStore.texts(disk, seed: 7)
    try store.set("10", for: "a")
    try store.remove("b")
    try store.set("4", for: "d")
    return (disk, store)
  }

  /// The steps of the save, the first and the last.
  private func steps() throws -> ClosedRange<Int> {
    let (disk, store) = try ready()
    let first = disk.operations + 1
    try store.save()
    return first...disk.operations
  }

  @Test func `a save that fails at any step keeps every change for the next`() throws {
    let steps = try steps()
    #expect(steps.count >= 5)
    for step in steps {
      let (disk, store) = try ready()
      disk.failAt(operation: step, reason: step % 2 == 0 ? .noSpace : .io(errno: 5))
      let error = #expect(throws: CairnError.self, "step \(step)") { try store.save() }
      #expect(error?.file == "/s")
      #expect(store.changedKeys == ["a", "b", "d"])
      #expect(try store.dictionary() == Self.after)
      #expect(try store.count == 3)
      let left = try CDBStore.texts(disk).dictionary()
      #expect(left == Self.before || left == Self.after)
      #expect(try store.save() == true)
      #expect(!store.hasChanges)
      #expect(try store.dictionary() == Self.after)
      #expect(try CDBStore.texts(disk).dictionary() == Self.after)
      #expect(try disk.list("/").map(\.name) == ["s"])
    }
  }

  @Test func `a read that fails keeps every change as well`() throws {
    let (calm, other) = try ready()
    let firstRead = calm.reads + 1
    try other.save()
    var failed = 0
    for read in firstRead...calm.reads {
      let (disk, store) = try ready()
      disk.failAt(read: read, reason: .io(errno: 5))
      do throws(CairnError) {
        try store.save()
      } catch {
        failed += 1
        #expect(store.changedKeys == ["a", "b", "d"])
        try store.save()
      }
      #expect(try CDBStore.texts(disk).dictionary() == Self.after, "read \(read)")
    }
    // What is there is looked at, copied, and looked at again.
    #expect(failed > 4)
  }

  @Test func `a power cut at any step leaves the old file or the new one`() throws {
    let steps = try steps()
    for step in steps.lowerBound...(steps.upperBound + 1) {
      for model in CrashModel.all(seeds: 0..<8) {
        let (disk, store) = try ready()
        disk.powerOff(before: step)
        let isSaved = (try? store.save()) != nil
        let left = try CDBStore.texts(disk.crash(keep: model)).dictionary()
        if isSaved {
          #expect(left == Self.after, "step \(step), \(model)")
        } else {
          #expect(left == Self.before || left == Self.after, "step \(step), \(model)")
        }
        // What was half written is in nobody's way.
        let next = try CDBStore.texts(disk.crash(keep: model), seed: 99)
        try next.set("9", for: "z")
        try next.close()
      }
    }
  }

  @Test func `closing that fails leaves the store open with its changes`() throws {
    let (disk, store) = try ready()
    disk.failAt(operation: disk.operations + 1, reason: .noSpace)
    let error = #expect(throws: CairnError.self) { try store.close() }
    #expect(error?.code == .diskSpace)
    #expect(store.isOpen)
    #expect(store.changedKeys == ["a", "b", "d"])
    try store.close()
    #expect(try CDBStore.texts(disk).dictionary() == Self.after)
  }

  @Test func `a store that outgrows 32 bits goes over to 64, and stays there`() throws {
    let disk = MemoryDisk()
    let (random, machine) = (SeededRandom(6), CDBSample.machine(disk))
    let records = (0..<90).map { (key: CDBSample.bytes("k\($0)"), value: random.bytes(50)) }
    let store = CDBStore<[UInt8], [UInt8]>(
      "/s", keys: .bytes, values: .raw, machine: machine, delay: ManualDelay().delay,
      largest32: UInt64(try CDBSample.file(Array(records.prefix(60)), .cdb).count))
    try store.open()
    for (end, format) in [(30, CDBFormat.cdb), (60, .cdb), (61, .cdb64), (90, .cdb64)] {
      for record in records.prefix(end) { try store.set(record.value, for: record.key) }
      try store.save()
      let expected = try CDBSample.file(Array(records.prefix(end)), format)
      #expect(try CDBSample.content("/s", disk) == expected, "\(end)")
      #expect(try store.value(for: records[end - 1].key) == records[end - 1].value)
      #expect(try disk.list("/").map(\.name) == ["s"])
    }
    try store.remove(records[0].key)
    try store.save()
    let expected = try CDBSample.file(Array(records.dropFirst()), .cdb64)
    #expect(try CDBSample.content("/s", disk) == expected)
  }

  @Test func `what killed writers left an hour ago goes with the next save`() throws {
    let disk = MemoryDisk()
    for name in ["s~00000000000000ff", "s~temp", "s~00000000000000fg", "t~00000000000000ff"] {
      try disk.open("/" + name, .create).close()
    }
    let clock = ManualClock()
    let store = CDBStore<String, String>(
      "/s", keys: .text, values: .text,
      machine: Machine(disk: disk, clock: clock, random: SeededRandom(1)),
      delay: ManualDelay().delay)
    try store.open()
    try store.set("1", for: "a")
    try store.save()
    #expect(try disk.list("/").count == 5)
    clock.advance(by: 3_600_001)
    try store.set("2", for: "a")
    try store.save()
    #expect(
      try disk.list("/").map(\.name)
        == ["s", "s~00000000000000fg", "s~temp", "t~00000000000000ff"])
  }
}
