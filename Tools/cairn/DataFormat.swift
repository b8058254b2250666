import ArgumentParser

/// The text formats of `import` and `export`.
enum DataFormat: String, ExpressibleByArgument, CaseIterable {
  case csv
  case jsonl

  /// The format that a file's name speaks of; nil if it doesn't.
  init?(path: String) {
    if path.hasSuffix(".csv") {
      self = .csv
    } else if path.hasSuffix(".jsonl") || path.hasSuffix(".ndjson") {
      self = .jsonl
    } else {
      return nil
    }
  }

  static func chosen(_ option: DataFormat?, path: String?) throws -> DataFormat {
    guard let format = option ?? path.flatMap({ DataFormat(path: $0) }) else {
      throw ToolError.usage("--format csv or jsonl? The file's name doesn't say")
    }
    return format
  }
}
