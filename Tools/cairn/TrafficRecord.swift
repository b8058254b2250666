import Cairn
import CairnToolText

/// What syncs with a server have cost: a small text file beside the root, `<root>.traffic`, since
/// each call is a process of its own. A line for each datastore: its id, how many syncs there were,
/// and of the last and of all of them the requests, the retries, and the bytes sent and received.
/// Nobody depends on it: what can't be read counts as nothing.
struct TrafficRecord: Equatable {
  var syncs = 0
  var last = FolderTraffic()
  var total = FolderTraffic()

  private static let suffix = ".traffic"

  /// nil if the datastore was never synced with a server.
  static func read(root: String, datastore: String) throws -> TrafficRecord? {
    try lines(root)[datastore].flatMap(TrafficRecord.init)
  }

  /// Counts another sync. Another process may be doing the same for another datastore.
  static func add(_ traffic: FolderTraffic, root: String, datastore: String) throws {
    try Descriptor.locked(root) { try count(traffic, root: root, datastore: datastore) }
  }

  private static func count(
    _ traffic: FolderTraffic, root: String, datastore: String
  ) throws {
    var lines = try lines(root)
    var record = lines[datastore].flatMap(TrafficRecord.init) ?? TrafficRecord()
    record.syncs += 1
    record.last = traffic
    record.total.requests += traffic.requests
    record.total.retries += traffic.retries
    record.total.sentBytes &+= traffic.sentBytes
    record.total.receivedBytes &+= traffic.receivedBytes
    lines[datastore] = record.numbers
    let text = lines.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
    try Settings.write(text, root: root, suffix)
  }

  private static func lines(_ root: String) throws -> [String: String] {
    let path = try Settings.known(root: root, suffix)
    guard Descriptor.exists(path) else { return [:] }
    let text = String(decoding: try Descriptor.content(of: path), as: UTF8.self)
    return text.split(separator: "\n").reduce(into: [:]) { lines, line in
      let parts = line.split(separator: " ", maxSplits: 1)
      if parts.count == 2 { lines[String(parts[0])] = String(parts[1]) }
    }
  }

  init() {}

  private init?(_ numbers: String) {
    let parts = numbers.split(separator: " ").compactMap { UInt64($0) }
    // What no sum of requests comes near can't make a sum overflow.
    guard parts.count == 9, parts.allSatisfy({ $0 < 1 << 62 }) else { return nil }
    syncs = Int(parts[0])
    last = FolderTraffic(parts[1...4])
    total = FolderTraffic(parts[5...8])
  }

  private var numbers: String {
    ([UInt64(syncs)] + last.numbers + total.numbers).map(String.init).joined(separator: " ")
  }

  var text: String {
    "last sync \(last.text); \(counted(syncs, "sync")) in all \(total.text)"
  }

  var json: JSON { ["syncs": .count(syncs), "last": last.json, "total": total.json] }
}

extension FolderTraffic {
  fileprivate init(_ numbers: ArraySlice<UInt64>) {
    let numbers = Array(numbers)
    self.init()
    (requests, retries) = (Int(numbers[0]), Int(numbers[1]))
    (sentBytes, receivedBytes) = (numbers[2], numbers[3])
  }

  fileprivate var numbers: [UInt64] {
    [UInt64(requests), UInt64(retries), sentBytes, receivedBytes]
  }

  /// `3 requests, 812 bytes sent, 1204 bytes received; 1 tried again`
  var text: String {
    "\(counted(requests, "request")), \(sentBytes) bytes sent, \(receivedBytes) bytes received"
      + (retries > 0 ? " (\(retries) tried again)" : "")
  }

  var json: JSON {
    [
      "requests": .count(requests), "retries": .count(retries), "sentBytes": .count(sentBytes),
      "receivedBytes": .count(receivedBytes),
    ]
  }
}
