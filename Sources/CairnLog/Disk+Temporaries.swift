package import CairnDisk

extension Disk {
  /// Removes what crashes left half written in a directory, which may be missing. Not while anybody
  /// writes there. Best effort: such files are in nobody's way, and the next sweep tries again.
  package func sweepTemporaries(_ directory: String) {
    do {
      guard try info(directory) != nil else { return }
      for entry in try list(directory)
      where entry.info.kind == .file && FileName.isTemporary(entry.name) {
        // One that can't be removed keeps no other.
        do { try remove(directory + "/" + entry.name) } catch {}
      }
    } catch {
      // As said.
    }
  }
}
