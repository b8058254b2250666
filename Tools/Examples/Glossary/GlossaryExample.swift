import CairnCDB
import Foundation

/// A glossary that an app ships as one file and keeps up to date: the example of the documentation.
@main
struct GlossaryExample {
  static func main() throws {
    let place = FileManager.default.temporaryDirectory.path + "/cairn-glossary-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer {
      // The system empties its temporary directory by itself, too.
      try? FileManager.default.removeItem(atPath: place)
    }
    try keep(place + "/glossary.cdb")
    try look(place + "/glossary.cdb")
    try make(place + "/colours.cdb")
  }

  static func keep(_ path: String) throws {
    let glossary = CDBStore<String, Entry>(path, keys: .text, values: .codable)
    try glossary.open()

    try glossary.set(Entry(meaning: "a heap of stones that shows the way"), for: "cairn")
    try glossary.set(Entry(meaning: "wrong"), for: "tarn")
    try glossary.save()  // one new file, durable, in the place of the old one

    try glossary.set(Entry(meaning: "a lake in the mountains"), for: "tarn")
    try glossary.set(nil, for: "scree")
    print("to be saved: \(glossary.changedKeys)")
    glossary.saveSoon()  // later, on another thread; further changes go with it

    let entries = try glossary.entries()
    while let (word, entry) = try entries.next() { print("\(word): \(entry.meaning)") }
    try glossary.close()  // saves what was not saved
  }

  static func look(_ path: String) throws {
    let file = try CDBFile(path)
    let word = Array("cairn".utf8)
    let length = try file.withValue(for: word.span) { bytes in bytes.count }
    print("\(length ?? 0) bytes, looked at and not copied")
    let statistics = try file.statistics()
    print("\(statistics.keys) words in \(statistics.size) bytes")
  }

  static func make(_ path: String) throws {
    let writer = try CDBWriter(path)
    for (name, value) in [("red", "#f00"), ("green", "#0f0")] {
      try writer.add(Array(name.utf8), Array(value.utf8))
    }
    try writer.finish()
    let colours = CDBStore<String, [UInt8]>(path, keys: .text, values: .raw)
    try colours.open()
    print("green is \(String(decoding: try colours["green"] ?? [], as: UTF8.self))")
  }
}
