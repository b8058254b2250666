/// Takes the content of a new attachment piece by piece; nothing of it stays in memory. Pieces are
/// written in the order of the calls.
public struct AttachmentWriter: Sendable {
  let blob: BlobWriter

  /// Writes the next piece, of any size.
  ///
  /// - Throws: `sizeLimit` beyond `Limits.attachmentBytes`; `invalidOperation` after the end;
  ///   errors of the disk. Nothing is attached then.
  public func write(_ bytes: [UInt8]) throws(CairnError) { try blob.write(bytes) }

  /// Bytes so far.
  public var length: UInt64 { blob.length }
}
