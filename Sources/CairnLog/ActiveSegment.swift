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
  /// Where a payload is packed.
  package private(set) var scratch: [UInt8] = []

  /// Of many more its footer, which names each of them, would be longer than a frame may be.
  package static let framesMax = 1 << 21
  /// Whether it should be sealed, however few bytes it has.
  package var isCrowded: Bool { items.count >= ActiveSegment.framesMax }

  private static let allocationMin = 64 << 10
  private static let scratchKept = 4 << 20
  /// EFBIG: beyond the limit of a process or a file system.
  private static let tooLarge: Int32 = 27

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

  /// Writes one frame behind the last, and returns how many bytes it takes. `frame` is room for a
  /// header, then the payload; what is left of it afterwards is nobody's. If it throws, the segment
  /// is as it was: the next frame goes to the same place.
  @discardableResult
  package mutating func append(
    _ kind: FrameKind, device: UInt64, sequence: UInt64, frame: inout [UInt8], durableThrough: Int
  ) throws(LogError) -> Int {
    // What a reader would refuse is never written.
    let count = frame.count - FrameFormat.headerSize
    guard count > 0, count <= FrameFormat.rawBytesMax else {
      throw LogError(
        .limit, file.path, at: UInt64(end),
        "a frame of \(count) bytes; 1 to \(FrameFormat.rawBytesMax) can be written")
    }
    complete(
      &frame, kind, device: device, sequence: sequence, durableThrough: durableThrough)
    // Also if the write fails: nobody may write to this segment again for long.
    if scratch.capacity > ActiveSegment.scratchKept { scratch = [] }
    try write(frame)
    items.append(
      SegmentFooter.Item(device: device, sequence: sequence, offset: UInt32(end)))
    end += frame.count
    return frame.count
  }

  /// Packs the payload if that pays, and fills in the header, for the place at `end`.
  private mutating func complete(
    _ frame: inout [UInt8], _ kind: FrameKind, device: UInt64, sequence: UInt64,
    durableThrough: Int
  ) {
    let rawLength = frame.count - FrameFormat.headerSize
    let isPacked = rawLength >= FrameFormat.packFrom && pack(&frame)
    let storedLength = frame.count - FrameFormat.headerSize
    // Behind the length come kind and flags, and two bytes that are zero.
    let flags = isPacked ? UInt64(FrameFormat.flagPacked) : 0
    frame.set(
      UInt64(UInt32(storedLength)) | UInt64(kind.rawValue) << 32 | flags << 40,
      UInt64(UInt32(rawLength)) | UInt64(UInt32(durableThrough)) << 32, device, sequence, at: 0)
    let seed = FrameFormat.seed(base: seedBase, offset: UInt64(end))
    let checksum = Frame.checksum(frame, at: 0, storedLength: storedLength, seed: seed)
    frame.set(checksum, at: FrameFormat.checksumOffset)
    let padding = FrameFormat.padded(frame.count) - frame.count
    frame.append(addingCapacity: padding) { room in
      for _ in 0..<padding { room.append(0) }
    }
  }

  private mutating func pack(_ frame: inout [UInt8]) -> Bool {
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: FrameFormat.emptyHeader)
    guard LZ4.pack(frame, FrameFormat.headerSize..<frame.count, into: &scratch) else {
      return false
    }
    swap(&frame, &scratch)
    return true
  }

  private mutating func write(_ bytes: [UInt8]) throws(LogError) {
    try makeRoom(bytes.count)
    do { try file.write(bytes.span, at: UInt64(end)) } catch { throw LogError(error) }
  }

  /// - Parameter isLast: Nothing follows, and what is reserved beyond it would be given back.
  private mutating func makeRoom(_ count: Int, isLast: Bool = false) throws(LogError) {
    let needed = end + count
    guard needed <= Int(UInt32.max) else {
      throw LogError(.limit, file.path, at: UInt64(end), "the segment would pass 4 GiB")
    }
    if needed <= allocated { return }
    do { try reserve(needed, isLast: isLast) } catch { throw LogError(error) }
  }

  private mutating func reserve(_ needed: Int, isLast: Bool) throws(DiskError) {
    var target = max(allocated, ActiveSegment.allocationMin)
    while target < needed { target *= target < 4 << 20 ? 4 : 2 }
    if !isLast {
      do throws(DiskError) {
        try file.preallocate(to: UInt64(target))
        allocated = target
        return
      } catch {
        // Room ahead saves time; a nearly full disk may have what is needed all the same.
        guard error.reason == .noSpace || error.reason == .io(errno: ActiveSegment.tooLarge) else {
          throw error
        }
        // A file system may keep what it had reserved before there was no more.
        do { try file.truncate(to: UInt64(allocated)) } catch {}
      }
    }
    try file.preallocate(to: UInt64(needed))
    allocated = needed
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
    var frame = FrameFormat.emptyHeader + footer.encoded()
    // What a reader would refuse is never written.
    guard frame.count - FrameFormat.headerSize <= FrameFormat.rawBytesMax else {
      throw LogError(
        .limit, file.path, at: UInt64(end), "\(items.count) frames, more than a footer can name")
    }
    complete(&frame, .seal, device: header.device, sequence: 0, durableThrough: durableThrough)
    // In one write with the frame: a seal that failed leaves the segment as it was.
    frame.put(UInt64(end))
    frame.append(contentsOf: SegmentFooter.trailerMagic)
    try makeRoom(frame.count, isLast: true)
    // Only a seal that is complete moves the end: one that failed is written over.
    do throws(DiskError) {
      try file.write(frame.span, at: UInt64(end))
      try file.truncate(to: UInt64(end + frame.count))
    } catch {
      // Behind a shorter frame an opening would take what is left of it for a torn tail.
      do throws(LogError) { try trim() } catch {}
      throw LogError(error)
    }
    end += frame.count
    return footer.chain
  }

  /// Gives the preallocated tail back: a closed store takes only the room it needs.
  package mutating func trim() throws(LogError) {
    do { try file.truncate(to: UInt64(end)) } catch { throw LogError(error) }
    allocated = end
  }
}
