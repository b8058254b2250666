internal import CairnBytes
internal import CairnDisk
package import CairnLog
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What is known of the histories of devices: the chain hash after their last deltas that are here
/// or in the inbox. Two copies of one device that went on by themselves are told apart by it.
///
/// Kept in CHAINS. It need not be complete, nor durable: what is not known is not compared.
///
///     "CAIRNCHN" · version u16 · floor u16 · zero u32 ·
///     devices (count; device u64, marks (count; sequence varint, chain u128)) ·
///     nothing, or replaced files (count; name string, time zigzag) ·
///     XXH3-64 of everything before
package struct Histories: Equatable, Sendable {
  static let magic: [UInt8] = Array("CAIRNCHN".utf8)
  /// Marks that are kept of a device.
  static let kept = 256
  static let bytesMax = 256 << 20

  struct Mark: Equatable, Sendable {
    var sequence: UInt64
    var chain: UInt128
  }

  /// By device, ascending by sequence.
  private(set) var marks: [DeviceID: [Mark]] = [:]
  /// Own files in the folder that the head does not name (any more), and when that was first seen:
  /// their grace goes on in the next process.
  var replaced: [String: Int64] = [:]

  init() {}

  /// The chain after a delta, nil if it is not known. Before the first delta it is 0.
  func chain(_ device: DeviceID, at sequence: UInt64) -> UInt128? {
    if sequence == 0 { return 0 }
    return marks[device]?.last { $0.sequence == sequence }?.chain
  }

  /// What is known of a device up to a delta: the last such mark behind `start`.
  func last(_ device: DeviceID, after start: UInt64, through end: UInt64) -> Mark? {
    marks[device]?.last { $0.sequence > start && $0.sequence <= end }
  }

  /// How many deltas of a device are the same in both, as far as what is known of it tells; nil if
  /// nothing does.
  func agreement(with other: Histories, on device: DeviceID) -> UInt64? {
    var agreed: UInt64?
    for mark in marks[device] ?? [] {
      guard let chain = other.chain(device, at: mark.sequence) else { continue }
      if chain != mark.chain { return agreed ?? mark.sequence - 1 }
      agreed = mark.sequence
    }
    return agreed
  }

  /// Notes the chains after delta `first` and those behind it. What was known of these goes.
  mutating func note(_ device: DeviceID, first: UInt64, _ chains: [UInt128]) {
    var list = (marks[device] ?? []).filter { $0.sequence < first }
    let new = chains.enumerated().suffix(Histories.kept)
    list += new.map { Mark(sequence: first + UInt64($0.offset), chain: $0.element) }
    marks[device] = Array(list.suffix(Histories.kept))
  }

  /// Forgets what is behind a delta.
  mutating func cut(_ device: DeviceID, after sequence: UInt64) {
    marks[device]?.removeAll { $0.sequence > sequence }
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
    if !replaced.isEmpty {
      out.putVarint(replaced.count)
      for (name, time) in replaced.sorted(by: { $0.key < $1.key }) {
        out.putString(name)
        out.putZigzag(time)
      }
    }
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
      guard count > 0, reader.isAtEnd else { throw .malformed("bytes after the last part") }
    } catch { throw LogError(error, path, at: UInt64(reader.offset), "histories") }
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

  /// Likewise. Not while somebody else may have the datastore open.
  func saveHistories() {
    let (histories, saved) = memory.withLock { ($0.histories, $0.savedHistories) }
    guard histories != saved, store.ending == nil else { return }
    do throws(LogError) {
      try store.replaceFile(FileName.chains, histories.encoded(), durable: false)
      memory.withLock { $0.savedHistories = histories }
    } catch {}
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
