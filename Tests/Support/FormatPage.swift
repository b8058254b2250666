/// The worked examples of the page that owns the file formats.
///
/// An example is a fenced block `hex <name>`. Each line has the offset, the bytes in hexadecimal,
/// and after a semicolon what they are; `* n` stands for n zero bytes.
package enum FormatPage {
  package struct Mistake: Error, CustomStringConvertible {
    package var description: String
  }

  package static func example(_ name: String) throws -> [UInt8] {
    let page = String(decoding: try ProjectFile.bytes("Sources/CairnLog/FORMAT.md"), as: UTF8.self)
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
    guard let start = lines.firstIndex(of: "```hex \(name)") else {
      throw Mistake(description: "FORMAT.md has no example \(name)")
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
    if words.dropFirst().first == "*", let count = words.last.flatMap({ Int($0) }) {
      bytes += [UInt8](repeating: 0, count: count)
      return
    }
    for word in words.dropFirst() {
      guard word.utf8.count == 2, let byte = UInt8(word, radix: 16) else {
        throw Mistake(description: "\(word) is no byte: \(line)")
      }
      bytes.append(byte)
    }
  }
}
