import CairnDisk
import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What this process must not leave behind: children, mounts, loop devices, directories. All are
/// taken away when it is interrupted, and those of one that was killed by the next one.
enum Leftovers {
  private struct State {
    var children: [pid_t] = []
    var places: [String] = []
    var sources: [any DispatchSourceSignal] = []
  }

  private static let state = Lock(State())

  static func started(_ pid: pid_t) { state.withLock { $0.children.append(pid) } }
  static func ended(_ pid: pid_t) { state.withLock { $0.children.removeAll { $0 == pid } } }

  static func made(_ place: String) {
    state.withLock { state in
      state.places.append(place)
      if state.sources.isEmpty { state.sources = [SIGINT, SIGTERM, SIGHUP].map(source) }
    }
  }

  static func removed(_ place: String) {
    state.withLock { $0.places.removeAll { $0 == place } }
  }

  /// On a queue of its own: the others may all be waiting for something.
  private static func source(_ number: Int32) -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let queue = DispatchQueue(label: "interruption")
    let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
    source.setEventHandler {
      let (children, places) = state.withLock { ($0.children, $0.places) }
      for child in children { kill(child, SIGKILL) }
      usleep(50_000)
      for place in places { Mounts.clear(place) }
      _exit(128 + number)
    }
    source.resume()
    return source
  }

  /// Takes away what processes that are gone left behind in a directory.
  static func sweep(_ directory: String) {
    for entry in (try? PosixDisk().list(directory)) ?? [] {
      guard entry.name.hasPrefix(Workplace.prefix) else { continue }
      let digits = entry.name.dropFirst(Workplace.prefix.count).prefix { $0.isNumber }
      guard let pid = pid_t(digits), kill(pid, 0) != 0, errno == ESRCH else { continue }
      Mounts.clear(directory + "/" + entry.name)
    }
  }
}

/// A directory of this process alone. It goes, with all that is mounted in it, when it is closed.
final class Workplace: Sendable {
  static let prefix = "cairn-torture-"
  let path: String

  init(_ directory: String) throws(TortureFailure) {
    Leftovers.sweep(directory)
    path = "\(directory)/\(Workplace.prefix)\(getpid())-\(Unique.next())"
    Leftovers.made(path)
    try TextFile.makeDirectory(path)
  }

  func path(_ name: String) -> String { path + "/" + name }

  deinit {
    Mounts.clear(path)
    Leftovers.removed(path)
  }
}

/// What is mounted below a directory, and the loop devices of files in it.
enum Mounts {
  /// Unmounts and detaches everything below a directory, then removes it.
  static func clear(_ path: String) {
    for round in 0..<4 {
      // First: one that is in use goes with its mount, and is not found once its file's mount went.
      for device in loops(below: path) { Loop.detach(device) }
      for mount in below(path).reversed() {
        unsafe umount2(mount, round < 2 ? 0 : Int32(MNT_DETACH))
      }
      if below(path).isEmpty, loops(below: path).isEmpty { break }
      usleep(20_000)
    }
    if below(path).isEmpty { try? TextFile.removeTree(path) }
  }

  /// In the order in which they were mounted.
  static func below(_ path: String) -> [String] {
    TextFile.read("/proc/self/mounts").split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      return words.count > 1 && words[1].hasPrefix(path + "/") ? String(words[1]) : nil
    }
  }

  private static func loops(below path: String) -> [String] {
    ((try? PosixDisk().list("/sys/block")) ?? []).map(\.name).filter { name in
      name.hasPrefix("loop")
        && TextFile.read("/sys/block/\(name)/loop/backing_file").hasPrefix(path + "/")
    }.map { "/dev/" + $0 }
  }
}
