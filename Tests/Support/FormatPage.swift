/// The worked examples of the page that owns the file formats.
///
/// An example is a fenced block `hex <name>`. Each line has the offset, the bytes in hexadecimal,
/// and after a semicolon what they are; `* n` stands for n zero bytes, or for n times the bytes
/// before it.
package enum FormatPage {
  package struct Mistake: Error, CustomStringConvertible {
    package var description: String
  }

  package static func example(
    _ name: String, of path: String = "Sources/CairnLog/FORMAT.md"
  ) throws -> [UInt8] {
    let page = String(decoding: try ProjectFile.bytes(path), as: UTF8.self)
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
    guard let start = lines.firstIndex(of: "```hex \(name)") else {
      throw Mistake(description: "\(path) has no example \(name)")
    }
    var bytes: [UInt8] = []
    for line in lines[(start + 1)...] {
      if line == "```" { return bytes }
      try read(line, into: &bytes)
    }
    throw Mistake(description: "the example \(name) has no end")
  }

  private static func read(_ line: Substring, into bytes: inout [UInt8]) throws {
    let words = (line.split(separator: ";", omittingEmptySubsequences: false).first ?? "")
      .split(separator: " ")
    guard let first = words.first, Int(first, radix: 16) == bytes.count else {
      throw Mistake(description: "offset \(String(bytes.count, radix: 16)) expected: \(line)")
    }
    let parts = words.dropFirst().split(separator: "*", omittingEmptySubsequences: false)
    var pattern: [UInt8] = []
    for word in parts.first ?? [] {
      guard word.utf8.count == 2, let byte = UInt8(word, radix: 16) else {
        throw Mistake(description: "\(word) is no byte: \(line)")
      }
      pattern.append(byte)
    }
    guard parts.count > 1 else {
      bytes += pattern
      return
    }
    guard parts.count == 2, let count = parts[1].first.flatMap({ Int($0) }) else {
      throw Mistake(description: "how many times? \(line)")
    }
    for _ in 0..<count { bytes += pattern.isEmpty ? [0] : pattern }
  }
}
