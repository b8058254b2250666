import CairnBytes
package import CairnDisk

/// The one segment of a local log that may grow.
///
/// The file is preallocated ahead of the frames: a file that grows in each commit pays for its
/// journal entry in every sync. What lies behind the last frame is zero.
package struct ActiveSegment {
  package let header: SegmentHeader
  package let file: any DiskFile
  /// Where the next frame goes.
  package private(set) var end: Int
  private var allocated: Int
  private var items: [SegmentFooter.Item]
  private let seedBase: UInt64
  private let previousChain: UInt128
  private var scratch: [UInt8] = []

  private static let allocationMin = 64 << 10
  private static let emptyHeader = [UInt8](repeating: 0, count: FrameFormat.headerSize)

  /// Creates the file with its header, durable with its name.
  package static func create(
    directory: String, header: SegmentHeader, previousChain: UInt128, disk: any Disk
  ) throws(LogError) -> ActiveSegment {
    let path = directory + "/" + FileName.segment(header.number)
    do throws(DiskError) {
      let file = try disk.open(path, .create)
      do throws(DiskError) {
        try file.preallocate(to: UInt64(allocationMin))
        let bytes = header.encoded()
        try file.write(bytes.span, at: 0)
        try file.sync()
        try disk.syncDirectory(directory)
      } catch {
        // Nothing refers to the file yet; a leftover would only be in the next one's way.
        file.close()
        do { try disk.remove(path) } catch {}
        throw error
      }
      return ActiveSegment(
        header: header, file: file, end: SegmentHeader.size, allocated: allocationMin, items: [],
        previousChain: previousChain)
    } catch { throw LogError(error) }
  }

  /// Goes on in a recovered segment, behind its last good frame.
  package init(
    header: SegmentHeader, file: any DiskFile, end: Int, allocated: Int,
    items: [SegmentFooter.Item], previousChain: UInt128
  ) {
    self.header = header
    self.file = file
    self.end = end
    self.allocated = allocated
    self.items = items
    self.previousChain = previousChain
    seedBase = header.seedBase
  }

  /// Writes one frame behind the last. If it throws, the segment is as it was: the next frame goes
  /// to the same place.
  package mutating func append(
    _ kind: FrameKind, device: UInt64, sequence: UInt64, payload: [UInt8], durableThrough: Int
  ) throws(LogError) {
    // What a reader would refuse is never written.
    guard !payload.isEmpty, payload.count <= FrameFormat.rawBytesMax else {
      throw LogError(
        .limit, file.path, at: UInt64(end),
        "a frame of \(payload.count) bytes; 1 to \(FrameFormat.rawBytesMax) can be written")
    }
    build(
      kind, device: device, sequence: sequence, payload: payload, durableThrough: durableThrough)
    try write()
    items.append(
      SegmentFooter.Item(device: device, sequence: sequence, offset: UInt32(end)))
    end += scratch.count
  }

  /// The frame's bytes for the place at `end`, in `scratch`.
  private mutating func build(
    _ kind: FrameKind, device: UInt64, sequence: UInt64, payload: [UInt8], durableThrough: Int
  ) {
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: ActiveSegment.emptyHeader)
    let packed =
      payload.count >= FrameFormat.packFrom
      && LZ4.pack(payload, 0..<payload.count, into: &scratch)
    if !packed { scratch.append(contentsOf: payload) }
    let storedLength = scratch.count - FrameFormat.headerSize
    scratch.set(UInt32(storedLength), at: 0)
    scratch[4] = kind.rawValue
    scratch[5] = packed ? FrameFormat.flagPacked : 0
    scratch.set(UInt32(payload.count), at: 8)
    scratch.set(UInt32(durableThrough), at: 12)
    scratch.set(device, at: 16)
    scratch.set(sequence, at: 24)
    let seed = FrameFormat.seed(base: seedBase, offset: UInt64(end))
    let checksum = Frame.checksum(scratch, at: 0, storedLength: storedLength, seed: seed)
    scratch.set(checksum, at: FrameFormat.checksumOffset)
    for _ in scratch.count..<FrameFormat.padded(scratch.count) { scratch.append(0) }
  }

  private mutating func write() throws(LogError) {
    let needed = end + scratch.count
    guard needed <= Int(UInt32.max) else {
      throw LogError(.limit, file.path, at: UInt64(end), "the segment would pass 4 GiB")
    }
    do {
      if needed > allocated {
        var target = max(allocated, ActiveSegment.allocationMin)
        while target < needed { target *= target < 4 << 20 ? 4 : 2 }
        try file.preallocate(to: UInt64(target))
        allocated = target
      }
      try file.write(scratch.span, at: UInt64(end))
    } catch { throw LogError(error) }
  }

  /// Writes the footer and cuts the file to its length; the caller syncs it.
  /// Returns the chain hash for the next segment.
  ///
  /// The footer says what frames there are, not that they are durable: it may itself reach the
  /// disk before them.
  package mutating func seal(durableThrough: Int = 0) throws(LogError) -> UInt128 {
    let content: [UInt8]
    do { content = try file.read(at: 0, count: end) } catch { throw LogError(error) }
    let footer = SegmentFooter(
      items: items, previous: previousChain, content: XXH3.hash128(content))
    build(
      .seal, device: header.device, sequence: 0, payload: footer.encoded(),
      durableThrough: durableThrough)
    // In one write with the frame: a seal that failed leaves the segment as it was.
    scratch.put(UInt64(end))
    scratch.append(contentsOf: SegmentFooter.trailerMagic)
    try write()
    // Only a seal that is complete moves the end: one that failed is written over.
    do { try file.truncate(to: UInt64(end + scratch.count)) } catch { throw LogError(error) }
    end += scratch.count
    return footer.chain
  }

  /// Gives the preallocated tail back: a closed store takes only the room it needs.
  package mutating func trim() throws(LogError) {
    do { try file.truncate(to: UInt64(end)) } catch { throw LogError(error) }
    allocated = end
  }
}
