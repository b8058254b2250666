#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A real ext4 on a disk of our own making: server, nbdfuse, loop device, mount.
final class BlockDisk {
  let server: BlockServer
  let mountPoint: String
  let scratch: String
  private let place: String
  private let fuse: Child
  private let loop: Loop

  static let needed = ["nbdfuse", "losetup", "mkfs.ext4"]

  init(_ directory: String, megabytes: Int = 24) throws {
    place = "\(directory)/blocks\(Unique.next())"
    mountPoint = place + "/mount"
    scratch = place + "/scratch"
    let outlet = place + "/outlet"
    for part in [mountPoint, scratch, outlet] { try TextFile.makeDirectory(part) }
    server = try BlockServer(socket: place + "/socket", megabytes: megabytes)
    server.start()
    fuse = try Child(
      "nbdfuse", [outlet + "/disk", "--unix", place + "/socket"], output: scratch + "/nbdfuse")
    let disk = outlet + "/disk"
    for _ in 0..<2000 where TextFile.size(disk) == 0 && !fuse.hasEnded { usleep(2000) }
    guard TextFile.size(disk) == server.size else {
      throw TortureFailure("nbdfuse shows no disk: \(fuse.errors)")
    }
    try Command.run("mkfs.ext4", ["-q", "-F", disk], scratch: scratch)
    loop = try Loop(disk, scratch: scratch)
    try loop.mount("ext4", at: mountPoint)
  }

  func unmount() throws { try Loop.unmount(mountPoint) }
  func mount() throws { try loop.mount("ext4", at: mountPoint) }

  func remove() throws {
    loop.detach()
    for _ in 0..<100 {
      if unsafe umount2(place + "/outlet", 0) == 0 { break }
      usleep(5000)
    }
    try fuse.wait(seconds: 30)
    try TextFile.removeTree(place)
  }
}
