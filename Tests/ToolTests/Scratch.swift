import Foundation
import TestSupport
import Testing

/// A directory for one test: a root of datastores, and files around it.
struct Scratch {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  var root: String { path("root") }

  func path(_ name: String) -> String { directory.path(name) }

  func write(_ name: String, _ text: String) throws -> String {
    try write(name, Array(text.utf8))
  }

  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: URL(filePath: path(name)))
    return path(name)
  }

  func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: path(name))))
  }

  func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

  /// The files below a directory, by path relative to it, sorted.
  func files(below name: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: path(name)).sorted().filter { file in
      var isDirectory: ObjCBool = false
      _ = unsafe FileManager.default.fileExists(
        atPath: path(name + "/" + file), isDirectory: &isDirectory)
      return !isDirectory.boolValue
    }
  }

  /// Runs the tool on this root.
  func cairn(_ arguments: String..., root: String? = nil) throws -> Tool.Outcome {
    try Tool.run(arguments + ["--root", root ?? self.root])
  }

  /// Runs it, and throws if it fails; its output.
  @discardableResult
  func succeed(_ arguments: String..., root: String? = nil) throws -> String {
    let outcome = try Tool.run(arguments + ["--root", root ?? self.root])
    guard outcome.status == 0 else { throw Failed(arguments: arguments, outcome: outcome) }
    return outcome.output
  }

  struct Failed: Error {
    var arguments: [String]
    var outcome: Tool.Outcome
  }
}

/// What is in a JSON document, by another parser than the tool's own.
func json(_ text: String) throws -> [String: Any] {
  let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
  return try #require(value as? [String: Any])
}
