import Cairn
import CairnToolText

/// A failure as it is shown: one sentence, and for `--json` its parts.
struct ToolError: Error {
  var status: ExitStatus
  var code: String
  var message: String
  var file: String?
  var position: TextPosition?

  init(
    _ status: ExitStatus, _ code: String, _ message: String,
    file: String? = nil, position: TextPosition? = nil
  ) {
    self.status = status
    self.code = code
    self.message = message
    self.file = file
    self.position = position
  }

  static func usage(_ message: String) -> ToolError { ToolError(.usage, "usage", message) }

  static func notFound(_ message: String) -> ToolError {
    ToolError(.notFound, "notFound", message)
  }

  /// Input that breaks a rule, with its place.
  init(_ error: SyntaxError, in bytes: [UInt8], of file: String) {
    let position = TextPosition(of: error.offset, in: bytes)
    self.init(
      .failure, "malformed",
      "\(file):\(position.line):\(position.column): \(error.message) (nothing was imported)",
      file: file, position: position)
  }

  var json: JSON {
    var error: JSON = ["code": .string(code), "message": .string(message)]
    if let file { error = error.adding("file", .string(file)) }
    if let position {
      error = error.adding("line", .count(position.line)).adding("column", .count(position.column))
    }
    return ["error": error, "exit": .int(Int64(status.rawValue))]
  }
}
