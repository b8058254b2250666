import Foundation
import Glibc

/// One connection, blocking: for servers of tests, each on a thread of its own.
struct Wire {
  let descriptor: Int32

  func close() { _ = Glibc.close(descriptor) }

  /// No more is read or written, and the other side learns it.
  func hangUp() { _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Some bytes; nil at the end, or if the connection is broken.
  func receive() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
    }
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  @discardableResult
  func send(_ bytes: some Collection<UInt8>) -> Bool {
    let all = Array(bytes)
    var sent = 0
    while sent < all.count {
      let count = unsafe all.withUnsafeBytes {
        unsafe Glibc.send(
          descriptor, $0.baseAddress.map { unsafe $0 + sent }, all.count - sent,
          Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  /// Children of the tests, which may have few files, do not inherit it.
  private static var kind: Int32 { Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) }

  /// A connection to this machine.
  static func connect(_ port: UInt16) -> Wire? {
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { return nil }
    var address = loopback(port)
    let result = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      _ = Glibc.close(descriptor)
      return nil
    }
    return Wire(descriptor: descriptor)
  }

  /// A socket that listens, and its port.
  static func listen() -> (descriptor: Int32, port: UInt16)? {
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { return nil }
    var address = loopback(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, size) == 0 && Glibc.listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isBound else {
      _ = Glibc.close(descriptor)
      return nil
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// A socket that has a port, and nothing listens; nil if somebody has it already.
  static func keep(_ port: UInt16) -> Int32? {
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { return nil }
    var address = loopback(port)
    var isShared: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    // Connections of the one that had it may not have faded away.
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, size)
    let isBound = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    if isBound { return descriptor }
    _ = Glibc.close(descriptor)
    return nil
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

/// A message of HTTP: its first line, headers in lower case, and its body.
struct Message: Sendable {
  var line: String
  var headers: [(name: String, value: String)]
  var body: [UInt8]

  subscript(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name }?.value
  }

  /// The next message of a connection; nil at its end. `rest` is what was received beyond it.
  /// An answer without a length goes on until the connection ends. `pace` is called before more of
  /// a body is received, with how much of it has come.
  static func read(
    _ wire: Wire, _ rest: inout [UInt8], hasNoBody: Bool = false, isAnswer: Bool = false,
    pace: (Int) -> Void = { _ in }
  ) -> Message? {
    let mark = Array("\r\n\r\n".utf8)
    var end: Int?
    while true {
      end = rest.firstRange(of: mark)?.lowerBound
      if end != nil { break }
      // Somebody begins to encrypt.
      if rest.first == 0x16 { return nil }
      guard let more = wire.receive() else { return nil }
      rest += more
    }
    guard let end else { return nil }
    let lines = String(decoding: rest[..<end], as: UTF8.self).components(separatedBy: "\r\n")
    rest.removeFirst(end + 4)
    var message = Message(line: lines[0], headers: [], body: [])
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      message.headers.append((name: String(line[..<colon]), value: value))
    }
    let status = isAnswer ? message.line.split(separator: " ").dropFirst().first : nil
    if hasNoBody || status == "204" || status == "304" { return message }
    if message["transfer-encoding"]?.lowercased() == "chunked" {
      return message.readChunks(wire, &rest)
    }
    guard let length = message["content-length"].flatMap({ Int($0) }) else {
      while isAnswer, let more = wire.receive() { rest += more }
      if isAnswer { (message.body, rest) = (rest, []) }
      return message
    }
    while rest.count < length {
      pace(rest.count)
      guard let more = wire.receive() else { return nil }
      rest += more
    }
    message.body = Array(rest[..<length])
    rest.removeFirst(length)
    return message
  }

  private func readChunks(_ wire: Wire, _ rest: inout [UInt8]) -> Message? {
    var copy = self
    let newline = Array("\r\n".utf8)
    while true {
      guard let range = rest.firstRange(of: newline) else {
        guard let more = wire.receive() else { return nil }
        rest += more
        continue
      }
      let digits = String(decoding: rest[..<range.lowerBound], as: UTF8.self)
      guard let count = Int(digits.split(separator: ";").first ?? "", radix: 16) else { return nil }
      while rest.count < range.upperBound + count + 2 {
        guard let more = wire.receive() else { return nil }
        rest += more
      }
      copy.body += rest[range.upperBound..<(range.upperBound + count)]
      rest.removeFirst(range.upperBound + count + 2)
      if count == 0 { return copy }
    }
  }
}
