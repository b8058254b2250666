package import CairnDisk

/// Where a writer of snapshots may keep what is too much for memory, and from when on.
package struct SpillPlace: Sendable {
  let machine: Machine
  /// Temporary files in it are removed by whoever comes after a crash.
  let directory: String
  /// The index of at most so many records is made in memory.
  let records: Int

  package init(machine: Machine, directory: String, records: Int) {
    self.machine = machine
    self.directory = directory
    self.records = records
  }
}
