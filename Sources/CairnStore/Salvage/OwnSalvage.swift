import CairnBytes
package import CairnDisk
import CairnLog
package import CairnMerge

/// What the log of a damaged store still has of its device's own deltas, as packs: for what was
/// published and can't be had from the folder just now.
package struct OwnSalvage {
  /// A pack is closed when it has so many bytes.
  private static let packBytes = 4 << 20

  private let device: DeviceID
  private let last: UInt64
  private var writer: PackWriter
  private var closed: [[UInt8]] = []

  /// Those behind `sequence`, up to `last`, of as many as follow one another.
  package static func packs(
    _ directory: String, datastore: UInt128, device: DeviceID, after sequence: UInt64,
    through last: UInt64, disk: any Disk
  ) throws(StoreError) -> [[UInt8]] {
    var work = OwnSalvage(device: device, after: sequence, through: last)
    do throws(LogError) {
      let log = directory + "/" + FileName.log
      for number in try numbers(log, disk) {
        let path = log + "/" + FileName.segment(number)
        let limit = Int(UInt32.max)
        guard let bytes = try DurableFile.read(path, limit: limit, disk: disk),
          let segment = SegmentSalvage(
            bytes, datastore: datastore, devices: [device.rawValue], number: number,
            mend: BitMend())
        else { continue }
        work.add(segment)
      }
    } catch { throw StoreError(error) }
    work.close()
    return work.closed
  }

  private init(device: DeviceID, after sequence: UInt64, through last: UInt64) {
    self.device = device
    self.last = last
    writer = PackWriter(device: device, first: sequence + 1)
  }

  private static func numbers(_ log: String, _ disk: any Disk) throws(LogError) -> [UInt64] {
    do throws(DiskError) {
      return try disk.list(log).compactMap { FileName.segmentNumber($0.name) }.sorted()
    } catch {
      if error.reason == .notFound { return [] }
      throw LogError(error)
    }
  }

  /// What is behind a damaged place may name records that were named there.
  private mutating func add(_ segment: SegmentSalvage) {
    var decoder = DeltaDecoder()
    var delta = Delta()
    var map: [UInt32] = []
    for part in segment.parts {
      guard case .frame(let frame) = part else { return }
      guard frame.kind == FrameKind.delta.rawValue else { continue }
      guard frame.device == device.rawValue, frame.sequence <= last else { return }
      do throws(DecodeError) {
        let payload = try frame.payload(segment.bytes)
        var reader = ByteReader(payload)
        let dot = Dot(device: device, sequence: frame.sequence)
        try decoder.decode(&reader, dot: dot, into: &delta)
        guard reader.isAtEnd else { return }
        if frame.sequence < writer.nextSequence { continue }
        guard frame.sequence == writer.nextSequence else { return }
        writer.append(delta, heap: payload, names: decoder.records, map: &map)
        if writer.byteCount >= OwnSalvage.packBytes {
          close()
          map = []
        }
      } catch { return }
    }
  }

  private mutating func close() {
    if writer.isEmpty { return }
    closed.append(writer.bytes())
    writer = PackWriter(device: device, first: writer.nextSequence)
  }
}
