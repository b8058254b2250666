import CairnBytes
package import CairnDisk

/// What a sealed segment says of itself, read from its two ends: enough for one whose frames are in
/// a snapshot already, and which is only kept until it is published.
package struct SealedSegment: Sendable {
  package let header: SegmentHeader
  package let outline: SegmentFooter.Outline
  /// Where its frames end.
  package let end: Int

  /// nil if the file is not sealed, or not as it should be: a scan tells what is wrong with it.
  /// What is between the ends is not looked at; each frame is checked when it is read.
  package init?(
    _ file: any DiskFile, size: UInt64, path: String
  ) throws(LogError) {
    let trailerSize = SegmentFooter.trailerSize
    guard size <= UInt64(UInt32.max), Int(size) > SegmentHeader.size + trailerSize else {
      return nil
    }
    let count = Int(size)
    do {
      let head = try file.read(at: 0, count: SegmentHeader.size)
      let trailer = try file.read(at: size - UInt64(trailerSize), count: trailerSize)
      guard trailer.count == trailerSize, head.count == SegmentHeader.size,
        Array(trailer[8...]) == SegmentFooter.trailerMagic
      else { return nil }
      let offset = trailer.u64(at: 0)
      guard offset >= UInt64(SegmentHeader.size), offset < size - UInt64(trailerSize) else {
        return nil
      }
      end = Int(offset)
      header = try SegmentHeader(head, path: path)
      let bytes = try file.read(at: offset, count: count - trailerSize - end)
      guard let frame = Frame(bytes, at: 0, base: end, seedBase: header.seedBase),
        frame.kind == FrameKind.seal.rawValue, end + frame.end == count - trailerSize
      else { return nil }
      outline = try SegmentFooter.outline(frame.payload(bytes), of: header.device)
    } catch let error as DiskError {
      throw LogError(error)
    } catch { return nil }
  }
}
