internal import CairnBytes
internal import CairnDisk
package import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What is known of the histories of devices: the chain hash after their last deltas that are here
/// or in the inbox. Two copies of one device that went on by themselves are told apart by it.
///
/// Kept in CHAINS. It need not be complete, nor durable, but for names of snapshots that nothing
/// else tells: what is not known is not compared, and does not count as the same.
///
///     "CAIRNCHN" · version u16 · floor u16 · zero u32 ·
///     devices (count; device u64, marks (count; sequence varint, chain u128)) ·
///     nothing, or replaced files (count; name string, time zigzag) ·
///     nothing, or rejoinings varint · XXH3-64 of everything before
package struct Histories: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNCHN".utf8)
  /// Marks that are kept of a device's last deltas, and of older ones as many again.
  static let kept = 256
  /// The same of a store that is put together: its history is compared with another, longer one.
  static let keptToCompare = 8192
  /// Of older deltas those are kept whose number is a multiple of this, so that two long branches
  /// have some in common.
  static let stride: UInt64 = 256
  static let bytesMax = 256 << 20

  struct Mark: Equatable, Sendable {
    var sequence: UInt64
    var chain: UInt128
  }

  /// By device, ascending by sequence.
  private(set) var marks: [DeviceID: [Mark]] = [:]
  /// Own files in the folder that the head does not name (any more), and when that was first seen:
  /// their grace goes on in the next process. A snapshot is here from before it goes up until the
  /// head names it.
  var replaced: [String: Int64] = [:]
  /// How often the store had been put together anew: what is known of a history that has lost says
  /// nothing of the one that has won.
  var rejoinings: UInt64 = 0
  private var limit = Histories.kept

  init() {}

  /// The chain after a delta, nil if it is not known. Before the first delta it is 0.
  func chain(_ device: DeviceID, at sequence: UInt64) -> UInt128? {
    if sequence == 0 { return 0 }
    return last(device, after: sequence - 1, through: sequence)?.chain
  }

  /// What is known of a device up to a delta: the last such mark behind `start`.
  func last(_ device: DeviceID, after start: UInt64, through end: UInt64) -> Mark? {
    guard let list = marks[device] else { return nil }
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].sequence <= end { low = middle + 1 } else { high = middle }
    }
    guard low > 0, list[low - 1].sequence > start else { return nil }
    return list[low - 1]
  }

  /// How many deltas of a device are known to be the same in both.
  func agreement(with other: Histories, on device: DeviceID) -> UInt64 {
    var agreed: UInt64 = 0
    for mark in marks[device] ?? [] {
      guard let chain = other.chain(device, at: mark.sequence) else { continue }
      if chain != mark.chain { return agreed }
      agreed = mark.sequence
    }
    return agreed
  }

  /// Devices of which the other one is known to have another delta somewhere.
  func forked(from other: Histories) -> Set<DeviceID> {
    Set(
      marks.filter { device, list in
        list.contains { other.chain(device, at: $0.sequence) ?? $0.chain != $0.chain }
      }.keys)
  }

  /// Notes the chains after delta `first` and those behind it, and the one before it if that was
  /// not known. What was known of these goes.
  mutating func note(
    _ device: DeviceID, first: UInt64, _ chains: [UInt128], after before: UInt128? = nil
  ) {
    var list = marks.removeValue(forKey: device) ?? []
    while let last = list.last, last.sequence >= first { list.removeLast() }
    if let before, first > 1, list.last?.sequence != first - 1 {
      list.append(Mark(sequence: first - 1, chain: before))
    }
    for (offset, chain) in chains.enumerated() {
      list.append(Mark(sequence: first + UInt64(offset), chain: chain))
    }
    marks[device] = Histories.thinned(list, limit)
  }

  /// From now on so many of the last ones are kept.
  mutating func keep(_ count: Int) {
    limit = count
    marks = marks.mapValues { Histories.thinned($0, count) }
  }

  private static func thinned(_ list: [Mark], _ count: Int) -> [Mark] {
    if list.count <= count { return list }
    let old = list.dropLast(count).filter { $0.sequence.isMultiple(of: stride) }
    return Array(old.suffix(count)) + Array(list.suffix(count))
  }

  /// Forgets what is behind a delta.
  mutating func cut(_ device: DeviceID, after sequence: UInt64) {
    marks[device]?.removeAll { $0.sequence > sequence }
  }

  /// Names of snapshots that may have gone up and are in no head, in a fixed order.
  var uploads: [String] {
    replaced.keys.filter { FileName.sharedSnapshot($0) != nil }.sorted()
  }

  /// Forgets all other files.
  mutating func dropReplaced() {
    replaced = replaced.filter { FileName.sharedSnapshot($0.key) != nil }
  }

  mutating func forgetUploads(namedBy head: Head) {
    for name in uploads
    where head.snapshot?.name == name || head.superseded.contains(where: { $0.name == name }) {
      replaced[name] = nil
    }
  }

  package func encoded() -> [UInt8] {
    var out = SealedFile.begin(Histories.magic)
    out.putVarint(marks.count)
    for (device, list) in marks.sorted(by: { $0.key < $1.key }) {
      out.put(device.rawValue)
      out.putVarint(list.count)
      for mark in list {
        out.putVarint(mark.sequence)
        out.put(mark.chain)
      }
    }
    if !replaced.isEmpty || rejoinings > 0 {
      out.putVarint(replaced.count)
      for (name, time) in replaced.sorted(by: { $0.key < $1.key }) {
        out.putString(name)
        out.putZigzag(time)
      }
    }
    if rejoinings > 0 { out.putVarint(rejoinings) }
    SealedFile.seal(&out)
    return out
  }

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    var reader = try SealedFile.open(
      bytes, magic: Histories.magic, least: 1, what: "histories", path: path)
    do throws(DecodeError) {
      for _ in 0..<(try reader.count(minimumSize: 9)) {
        let device = DeviceID(rawValue: try reader.u64())
        var list: [Mark] = []
        for _ in 0..<(try reader.count(minimumSize: 17)) {
          let mark = Mark(sequence: try reader.varint(), chain: try reader.hash())
          guard mark.sequence > list.last?.sequence ?? 0 else { throw .malformed("marks") }
          list.append(mark)
        }
        marks[device] = list
      }
      if reader.isAtEnd { return }
      let count = try reader.count(minimumSize: 2)
      var last = ""
      for _ in 0..<count {
        let name = try reader.string()
        guard name > last else { throw .malformed("replaced files out of order") }
        replaced[name] = try reader.zigzag()
        last = name
      }
      if !reader.isAtEnd {
        rejoinings = try reader.varint()
        guard rejoinings > 0 else { throw .malformed("no rejoinings") }
      }
      guard count > 0 || rejoinings > 0, reader.isAtEnd else {
        throw .malformed("bytes after the last part")
      }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "histories") }
  }
}

extension Exchange.Memory {
  /// What was saved, as far as it is about what is here now.
  mutating func take(_ saved: Histories, as known: Histories) {
    (histories, savedHistories) = (known, known)
    savedHistories.rejoinings = saved.rejoinings
  }
}

extension Exchange {
  /// Best effort: nothing is known then.
  static func readHistories(_ directory: String, _ machine: Machine) -> Histories {
    let path = directory + "/" + FileName.chains
    do throws(LogError) {
      let limit = Histories.bytesMax
      guard let bytes = try DurableFile.read(path, limit: limit, disk: machine.disk) else {
        return Histories()
      }
      return try Histories(bytes, path: path)
    } catch { return Histories() }
  }

  /// Likewise, but for the name of a snapshot that nothing else tells. Not while somebody else may
  /// have the datastore open.
  func saveHistories() {
    let (histories, saved) = memory.withLock { ($0.histories, $0.savedHistories) }
    guard histories != saved, store.ending == nil else { return }
    do throws(StoreError) {
      try store.replaceFile(
        FileName.chains, histories.encoded(), durable: !histories.uploads.isEmpty)
      memory.withLock { $0.savedHistories = histories }
    } catch {}
  }

  /// What was saved before a switch was thrown away, with what had been fetched since. A process
  /// that ends in its first round would save nothing, and the next opening throw that away again.
  func saveHistoriesOfAnother() {
    if memory.withLock({ $0.savedHistories.rejoinings != store.rejoinings }) { saveHistories() }
  }

  /// A segment must go on from what is here of its device; `chains` are what its deltas make, and
  /// `have` deltas of the device are here.
  func checkHistory(
    _ segment: PublishedSegment, _ chains: [UInt128], _ name: String, _ have: UInt64
  ) throws(LogError) {
    let device = DeviceID(rawValue: segment.device)
    let (before, inside) = memory.withLock { memory in
      (
        memory.histories.chain(device, at: segment.first - 1),
        memory.histories.last(
          device, after: segment.first - 1, through: min(have, segment.last))
      )
    }
    let isKnown = inside.map { chains[Int($0.sequence - segment.first)] == $0.chain }
    if before ?? segment.chainBefore == segment.chainBefore, isKnown ?? true { return }
    memory.withLock { _ = $0.forked.insert(device) }
    throw LogError(
      .foreign, name, at: 64,
      "it does not continue what this device published before: two copies of one device have "
        + "written under one name")
  }
}
