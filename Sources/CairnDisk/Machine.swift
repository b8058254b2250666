/// All that the store needs of the computer it runs on, so that a test can give it another.
package struct Machine: Sendable {
  package var disk: any Disk
  package var clock: any WallClock
  package var random: any RandomSource

  package init(disk: any Disk, clock: any WallClock, random: any RandomSource) {
    self.disk = disk
    self.clock = clock
    self.random = random
  }

  /// This computer.
  package static let real = Machine(
    disk: PosixDisk(), clock: SystemClock(), random: SystemRandom())
}
