import CairnDisk
import TestSupport

/// The computer that a scenario runs on: a disk of its own, and one on which the folder is. Either
/// can lose its power.
struct Place: Sendable {
  var home: MemoryDisk
  var folder: MemoryDisk
  var clock: ManualClock
  var random: SeededRandom
  /// Devices of others that publish in the folder.
  var peers: Set<UInt64> = []
  /// Makes what is written differ from run to run.
  var variant: UInt64 = 0

  init(seed: UInt64, variant: UInt64 = 0) {
    self.variant = variant
    clock = ManualClock()
    home = MemoryDisk(clock: clock)
    folder = MemoryDisk(clock: clock)
    random = SeededRandom(seed)
  }

  /// What is left of another one. Names are random in life and never meet again: so they must not
  /// come from the seed that the lost ones came from.
  init(home: MemoryDisk, folder: MemoryDisk, clock: ManualClock, seed: UInt64) {
    (self.home, self.folder, self.clock) = (home, folder, clock)
    random = SeededRandom(seed)
  }

  /// Some bytes, the same for the same step and variant.
  func bytes(_ step: Int, below limit: Int) -> [UInt8] {
    SeededRandom(UInt64(step) &+ variant << 32).bytes((step * 37 + Int(variant) * 53) % limit)
  }

  /// What the process at work has of the disk, if processes come and go.
  var process: ProcessDisk?

  var machine: Machine { Machine(disk: process ?? home, clock: clock, random: random) }
  var folderMachine: Machine { Machine(disk: folder, clock: clock, random: random) }
}
