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

  /// What is still written when the power goes; the numbers are the kernel's.
  enum Cut: UInt32, CaseIterable, Sendable {
    /// The end of the journal, and no contents of files.
    case afterJournal = 1
    /// Nothing, the end of the journal included.
    case atOnce = 2

    var name: String { self == .atOnce ? "at once" : "after the journal" }
  }

  /// The power goes.
  func cut(_ cut: Cut) throws(TortureFailure) {
    let file = unsafe open(mountPoint, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw TortureFailure("could not open \(mountPoint): errno \(errno)") }
    defer { close(file) }
    var how = cut.rawValue
    guard unsafe ioctl(file, 0x8004_587D, &how) == 0 else {
      throw TortureFailure("\(kind) can't be shut down: errno \(errno)")
    }
    // It is off: else the writer's data is only as safe as it would be anyway.
    let probe = mountPoint + "/probe"
    let written = unsafe open(probe, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    guard written < 0 else {
      close(written)
      throw TortureFailure("\(kind) takes files after its power went")
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
