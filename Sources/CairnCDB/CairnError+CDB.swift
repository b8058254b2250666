internal import Cairn
internal import CairnDisk

extension CairnError {
  /// Something in a file is not as the format has it.
  static func damaged(_ path: String, _ offset: UInt64, _ what: String) -> CairnError {
    CairnError(
      .corrupt,
      "\"\(path)\" is damaged at offset \(offset): \(what); make it anew, or restore a copy",
      file: path, offset: offset)
  }

  /// A key or value that would have to be read at once.
  static func tooLong(_ path: String, _ offset: UInt64, _ length: Int) -> CairnError {
    CairnError(
      .sizeLimit,
      "\"\(path)\" has a key or value of \(length) bytes at offset \(offset); at most "
        + "\(CDBFile.largestRead) can be read: split it", file: path, offset: offset)
  }

  /// The file has become shorter since it was opened.
  static func cutShort(_ path: String, _ offset: UInt64) -> CairnError {
    CairnError(
      .corrupt,
      "\"\(path)\" was cut short while it was open: it ends before offset \(offset); replace "
        + "such a file by another one instead of writing to it", file: path, offset: offset)
  }

  /// What the disk refused, with the name that the caller knows: a file that is being written has
  /// another one for a while.
  static func disk(_ error: DiskError, _ path: String) -> CairnError {
    var result = CairnError(error)
    result.file = path
    return result
  }
}
