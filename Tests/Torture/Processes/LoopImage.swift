#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A file system of its own in a file on a memory disk.
final class LoopImage: Sendable {
  let kind: String
  let mountPoint: String
  /// A directory on the memory disk, which no cut touches.
  let scratch: String
  private let memory: String
  private let loop: Loop

  init(_ kind: String, _ directory: String, megabytes: Int? = nil) throws(TortureFailure) {
    self.kind = kind
    let place = "\(directory)/\(kind)-\(Unique.next())"
    memory = place + "/memory"
    mountPoint = place + "/mount"
    scratch = memory + "/scratch"
    try TextFile.makeDirectory(memory)
    try TextFile.makeDirectory(mountPoint)
    guard unsafe mount("tmpfs", memory, "tmpfs", 0, "size=2g") == 0 else {
      throw TortureFailure("could not mount a memory disk: errno \(errno)")
    }
    try TextFile.makeDirectory(scratch)
    let image = memory + "/image"
    try TextFile.write(image, [])
    // XFS takes no less.
    let size = megabytes ?? (kind == "xfs" ? 320 : 96)
    guard unsafe truncate(image, off_t(size) << 20) == 0 else {
      throw TortureFailure("could not make an image: errno \(errno)")
    }
    let quiet = kind == "xfs" ? ["-q", "-f", image] : ["-q", "-F", image]
    try Command.run("mkfs.\(kind)", quiet, scratch: scratch)
    loop = try Loop(image, scratch: scratch)
    try loop.mount(kind, at: mountPoint)
  }

  /// The power goes: nothing that was not written yet ever will be, the journal's end included.
  func cut() throws(TortureFailure) {
    let file = unsafe open(mountPoint, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw TortureFailure("could not open \(mountPoint): errno \(errno)") }
    defer { close(file) }
    var withoutLog: UInt32 = 2
    guard unsafe ioctl(file, 0x8004_587D, &withoutLog) == 0 else {
      throw TortureFailure("\(kind) can't be shut down: errno \(errno)")
    }
  }

  /// The power is back: the journal is replayed.
  func mountAgain() throws(TortureFailure) {
    try Loop.unmount(mountPoint)
    try loop.mount(kind, at: mountPoint)
  }

  func remove() throws(TortureFailure) {
    try Loop.unmount(mountPoint)
    loop.detach()
    try Loop.unmount(memory)
  }
}
