import CairnDisk
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A disk in memory, served by the NBD protocol on a socket, that remembers each write and flush
/// with its time, and fails when it is told to.
final class BlockServer: Sendable {
  /// What reached the disk.
  enum Entry: Sendable {
    case write(offset: Int, bytes: [UInt8], time: UInt64)
    /// What was written before is durable when this is answered.
    case flush(time: UInt64)

    var time: UInt64 {
      switch self {
      case .write(_, _, let time), .flush(let time): time
      }
    }
  }

  private struct State {
    var disk: [UInt8]
    var log: [Entry] = []
  }

  let size: Int
  private let state: Lock<State>
  private let toFail = Atomic<Int>(0)
  private let failed = Atomic<Int>(0)
  private let listener: Int32

  /// Serves one client on a socket that it makes.
  init(socket path: String, megabytes: Int) throws(TortureFailure) {
    size = megabytes << 20
    state = Lock(State(disk: [UInt8](repeating: 0, count: megabytes << 20)))
    listener = try BlockServer.listen(path)
  }

  private static func listen(_ path: String) throws(TortureFailure) -> Int32 {
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      guard bytes.count < place.count else { return false }
      unsafe place.copyBytes(from: bytes)
      return true
    }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isBound = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(listener, $0, length)
      }
    }
    guard fits, listener >= 0, isBound == 0, Glibc.listen(listener, 1) == 0 else {
      throw TortureFailure("could not listen on \(path): errno \(errno)")
    }
    return listener
  }

  /// Begins to serve; ends when the client goes away.
  func start() {
    _ = BackgroundThread {
      let client = accept(self.listener, nil, nil)
      close(self.listener)
      guard client >= 0 else { return }
      BlockConnection(server: self, client: client).serve()
      close(client)
    }
  }

  /// The next writes and flushes are refused, as many as that.
  func fail(_ count: Int = Int.max) { toFail.store(count, ordering: .sequentiallyConsistent) }
  /// It is well again.
  func mend() { fail(0) }
  /// How many were.
  var refused: Int { failed.load(ordering: .relaxed) }

  /// What is on the disk now; the log begins here.
  func beginLog() -> [UInt8] {
    state.withLock { state in
      state.log = []
      return state.disk
    }
  }

  var log: [Entry] { state.withLock { $0.log } }

  func read(_ offset: Int, _ count: Int) -> [UInt8] {
    state.withLock { Array($0.disk[offset..<(offset + count)]) }
  }

  /// Whether it was done.
  func write(_ bytes: [UInt8], at offset: Int) -> Bool {
    guard mayWork() else { return false }
    state.withLock { state in
      state.disk.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
      state.log.append(.write(offset: offset, bytes: bytes, time: Monotonic.now))
    }
    return true
  }

  /// Whether it was done.
  func flush() -> Bool {
    guard mayWork() else { return false }
    state.withLock { $0.log.append(.flush(time: Monotonic.now)) }
    return true
  }

  private func mayWork() -> Bool {
    guard toFail.load(ordering: .sequentiallyConsistent) > 0 else { return true }
    toFail.subtract(1, ordering: .sequentiallyConsistent)
    failed.add(1, ordering: .relaxed)
    return false
  }
}

/// One client of a block server: as much of the NBD protocol as `nbdfuse` speaks.
struct BlockConnection {
  let server: BlockServer
  let client: Int32

  func serve() {
    guard greet() else { return }
    while let header = receive(28), number(header, 0, 4) == 0x2560_9513 {
      let kind = number(header, 6, 2)
      let handle = Array(header[8..<16])
      let (offset, length) = (Int(clamping: number(header, 16, 8)), Int(number(header, 24, 4)))
      guard kind != 2, length <= 64 << 20 else { return }
      let isInside = offset <= server.size && length <= server.size - offset
      switch kind {
      case 0:
        guard reply(handle, isInside ? 0 : 22) else { return }
        if isInside, !send(server.read(offset, length)) { return }
      case 1:
        guard let bytes = receive(length) else { return }
        let isDone = isInside && server.write(bytes, at: offset)
        guard reply(handle, isDone ? 0 : 5) else { return }
      case 3: guard reply(handle, server.flush() ? 0 : 5) else { return }
      default: guard reply(handle, 22) else { return }
      }
    }
  }

  private func greet() -> Bool {
    // Fixed newstyle, no zeroes.
    guard send(Array("NBDMAGICIHAVEOPT".utf8) + [0, 3]), receive(4) != nil else { return false }
    while let header = receive(16) {
      let option = number(header, 8, 4)
      guard let data = receive(Int(number(header, 12, 4))) else { return false }
      _ = data
      switch option {
      case 6, 7:
        // The export: its size; flags: has flags, flushes.
        let info: [UInt8] = [0, 0] + big(UInt64(server.size), 8) + [0, 5]
        guard answer(option, 3, info), answer(option, 1, []) else { return false }
        if option == 7 { return true }
      case 2:
        _ = answer(option, 1, [])
        return false
      default: guard answer(option, 0x8000_0001, []) else { return false }
      }
    }
    return false
  }

  private func answer(_ option: UInt64, _ kind: UInt64, _ data: [UInt8]) -> Bool {
    send(
      big(0x3_E889_0455_65A9, 8) + big(option, 4) + big(kind, 4) + big(UInt64(data.count), 4)
        + data)
  }

  private func reply(_ handle: [UInt8], _ error: UInt64) -> Bool {
    send(big(0x6744_6698, 4) + big(error, 4) + handle)
  }

  private func big(_ value: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
  }

  private func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
    bytes[offset..<(offset + count)].reduce(0) { $0 << 8 | UInt64($1) }
  }

  private func receive(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = unsafe bytes.withUnsafeMutableBytes {
        unsafe recv(client, $0.baseAddress?.advanced(by: done), count - done, 0)
      }
      if got <= 0 { return nil }
      done += got
    }
    return bytes
  }

  private func send(_ bytes: [UInt8]) -> Bool {
    var done = 0
    while done < bytes.count {
      let sent = unsafe bytes.withUnsafeBytes {
        unsafe Glibc.send(
          client, $0.baseAddress?.advanced(by: done), bytes.count - done, Int32(MSG_NOSIGNAL))
      }
      if sent <= 0 { return false }
      done += sent
    }
    return true
  }
}
