internal import CairnBytes
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// All that has been published under a device's name, as its head in the folder tells it.
struct PublishedBranch: Sendable {
  struct File: Sendable {
    var first: UInt64
    var last: UInt64
    var pack: [UInt8]
    /// After each delta.
    var chains: [UInt128]
  }

  var files: [File]

  var last: UInt64 { files.last?.last ?? 0 }

  /// The chain after a delta, nil if it is not among these.
  func chain(at sequence: UInt64) -> UInt128? {
    guard let file = files.first(where: { $0.first <= sequence && sequence <= $0.last }) else {
      return nil
    }
    return file.chains[Int(sequence - file.first)]
  }
}

extension Exchange {
  /// Files of a device, in the order of what is in them. What is not there, or can't be used, is in
  /// the report, and left out.
  func files(
    _ segments: [Head.Segment], of device: DeviceID, _ listing: [String: FolderEntry],
    _ report: inout ExchangeReport
  ) async throws(CairnError) -> [PublishedBranch.File] {
    var files: [PublishedBranch.File] = []
    for segment in segments {
      let name = segment.name(device)
      guard let entry = listing[name], entry.isPresent, entry.size == segment.size else {
        report.waiting.append(
          ExchangeReport.Waiting(
            name: name, bytes: segment.size,
            reason: "\(listing[name]?.size ?? 0) of \(segment.size) bytes are here"))
        continue
      }
      report.requests += 1
      let limit = PublishedSegment.fileBytesMax
      // Without it one branch would look shorter than it is.
      guard let bytes = try await readFile(entry, limit, isVital: true, &report) else { continue }
      try checkOpen()
      do throws(LogError) {
        let published = try PublishedSegment(bytes, name: name, datastore: store.datastore)
        guard published.encodedName(bytes) == name else {
          throw LogError(.foreign, name, at: 32, "its content belongs under another name")
        }
        let chains = try Exchange.verify(published, name).chains
        files.append(
          PublishedBranch.File(
            first: published.first, last: published.last, pack: published.pack, chains: chains))
      } catch { judge(error, entry, bytes, &report) }
    }
    return files
  }
}

/// The own deltas of a copy of a device, as far as it is known what they were.
struct OwnBranch {
  let device: DeviceID
  /// How many there are.
  let last: UInt64
  private(set) var chains: [UInt64: UInt128] = [0: 0]

  init(_ device: DeviceID, last: UInt64) {
    self.device = device
    self.last = last
  }

  mutating func note(_ sequence: UInt64, _ chain: UInt128) {
    if sequence <= last { chains[sequence] = chain }
  }

  mutating func note(first: UInt64, _ list: [UInt128]) {
    for (offset, chain) in list.enumerated() { note(first + UInt64(offset), chain) }
  }

  /// The last delta that is the same in both.
  func common(with other: PublishedBranch) -> UInt64 {
    chains.filter { other.chain(at: $0.key) == $0.value }.keys.max() ?? 0
  }

  /// Whether it is known that there is nothing in common behind that.
  func isCertain(_ common: UInt64, _ other: PublishedBranch) -> Bool {
    common >= min(last, other.last) || chains[common + 1] != nil
  }
}
