#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A file as a block device.
struct Loop {
  let device: String

  /// Attaches a file to the next free device.
  init(_ file: String, scratch: String) throws(TortureFailure) {
    let text = try Command.run("losetup", ["-f", "--show", file], scratch: scratch)
    device = String(text.filter { !$0.isNewline })
  }

  func detach() { Loop.detach(device) }

  static func detach(_ device: String) {
    let file = unsafe open(device, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { return }
    defer { close(file) }
    _ = ioctl(file, 0x4C01)  // LOOP_CLR_FD
  }

  func mount(_ kind: String, at place: String) throws(TortureFailure) {
    guard unsafe Glibc.mount(device, place, kind, 0, nil) == 0 else {
      throw TortureFailure("could not mount \(device) at \(place) as \(kind): errno \(errno)")
    }
  }

  /// Tries for a while: what was just closed may take its time.
  static func unmount(_ place: String) throws(TortureFailure) {
    for _ in 0..<500 {
      if unsafe umount2(place, 0) == 0 { return }
      if errno != EBUSY { break }
      usleep(2000)
    }
    let code = errno
    throw TortureFailure(
      "could not unmount \(place): errno \(code); open here: \(OpenFiles.paths(below: place))")
  }
}
