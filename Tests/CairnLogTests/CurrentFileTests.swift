import CairnBytes
import CairnDisk
import CairnLog
import TestSupport
import Testing

struct CurrentFileTests {
  static let sample = CurrentFile(
    flags: CurrentFile.flagLinked, datastore: 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100,
    device: 0x8877_6655_4433_2211, snapshot: 3, firstSegment: 7, firstKept: 5)

  @Test func `it is read as it was written`() throws {
    let bytes = Self.sample.encoded()
    #expect(bytes.count == CurrentFile.size)
    #expect(try CurrentFile(bytes, path: "CURRENT") == Self.sample)
    #expect(Self.sample.isLinked)
  }

  @Test func `every flipped bit and every truncation is an error`() {
    let bytes = Self.sample.encoded()
    for bit in 0..<(bytes.count * 8) {
      let reason = logFailure { _ = try CurrentFile(bytes.flipping(bit: bit), path: "CURRENT") }
      #expect(reason == (bit / 8 < 8 ? .foreign : .corrupt), "bit \(bit)")
    }
    for length in 0..<bytes.count {
      let cut = Array(bytes[..<length])
      #expect(logFailure { _ = try CurrentFile(cut, path: "CURRENT") } == .truncated)
    }
    #expect(logFailure { _ = try CurrentFile(bytes + [0], path: "CURRENT") } == .corrupt)
  }

  @Test(arguments: [(88, "ends too early"), (104, "is too long")])
  func `a wrong length is told as what it is`(count: Int, what: String) {
    let bytes = Array((Self.sample.encoded() + [UInt8](repeating: 0, count: 8)).prefix(count))
    var message = ""
    do throws(LogError) { _ = try CurrentFile(bytes, path: "CURRENT") } catch {
      message = error.description
    }
    #expect(message == "CURRENT at offset 0: it \(what): \(count) bytes, not 96")
  }

  @Test func `a newer floor is refused`() {
    var bytes = Self.sample.encoded()
    bytes[10] = 200
    bytes.set(XXH3.hash64(bytes, 0..<88), at: 88)
    #expect(logFailure { _ = try CurrentFile(bytes, path: "CURRENT") } == .needsNewerVersion(200))
  }

  @Test(arguments: [(32, 0), (48, 0), (56, 0), (56, 8)])
  func `impossible numbers are refused`(offset: Int, value: UInt64) {
    var bytes = Self.sample.encoded()
    bytes.set(value, at: offset)
    bytes.set(XXH3.hash64(bytes, 0..<88), at: 88)
    #expect(logFailure { _ = try CurrentFile(bytes, path: "CURRENT") } == .corrupt)
  }

  @Test func `a power cut at any step leaves the old file or the new one`() throws {
    var new = Self.sample
    new.snapshot = 4
    func machine(_ disk: MemoryDisk) -> Machine {
      Machine(disk: disk, clock: ManualClock(), random: SeededRandom(1))
    }
    func start() throws -> MemoryDisk {
      let disk = MemoryDisk()
      try disk.setBytes("/d/CURRENT", Self.sample.encoded())
      return disk
    }
    let counted = try start()
    try new.write(directory: "/d", machine: machine(counted))
    for step in 1...(counted.operations + 1) {
      let disk = try start()
      disk.powerOff(before: step)
      let isDone = (try? new.write(directory: "/d", machine: machine(disk))) != nil
      for model in CrashModel.all(seeds: 0..<10) {
        let bytes = try #require(disk.crash(keep: model).bytes("/d/CURRENT"))
        let read = try CurrentFile(bytes, path: "CURRENT")
        #expect(read == new || !isDone && read == Self.sample)
      }
    }
  }

  @Test func `a file longer than asked for is not read`() throws {
    let disk = MemoryDisk()
    try disk.setBytes("/f", [UInt8](repeating: 1, count: 100))
    #expect(try DurableFile.read("/f", limit: 100, disk: disk)?.count == 100)
    #expect(logFailure { _ = try DurableFile.read("/f", limit: 99, disk: disk) } == .limit)
    #expect(try DurableFile.read("/g", limit: 99, disk: disk) == nil)
  }
}
