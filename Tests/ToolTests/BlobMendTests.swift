import Foundation
import TestSupport
import Testing

/// `cairn blob` where a content is damaged, and where it is to go to standard output.
@Suite struct BlobMendTests {
  let scratch: Scratch
  let (a, b): (String, String)

  init() throws {
    scratch = try Scratch()
    (a, b) = (scratch.path("a"), scratch.path("b"))
    let folder = scratch.path("folder")
    try scratch.succeed("set", "t", "r", "n=1", "--insert", "--folder", folder, root: a)
    let file = try scratch.write("in.txt", String(repeating: "text\n", count: 100))
    try scratch.succeed("blob", "put", file, "t", "r", "photo", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", "--folder", folder, root: b)
    try scratch.succeed("blob", "fetch", root: b)
  }

  @Test func `a damaged content is mended by what doctor and verify say`() throws {
    let name = try #require(try scratch.files(below: "b").first { $0.hasSuffix(".blob") })
    let whole = try scratch.bytes("b/" + name)
    _ = try scratch.write("b/" + name, whole.reversed())
    let verified = try scratch.cairn("verify", root: b)
    #expect(verified.status == 3 && verified.output.contains("cairn blob fetch"))
    let health = try scratch.cairn("doctor", root: b)
    let command = "  -> cairn blob fetch --datastore default --root \(b)\n"
    #expect(health.status == 1 && health.output.contains(command), "\(health)")
    let fetched = try Tool.run(
      command.split(whereSeparator: \.isWhitespace).dropFirst(2).map(String.init))
    #expect(fetched.status == 0 && fetched.output == "fetched 1 attachment\n", "\(fetched)")
    #expect(try scratch.bytes("b/" + name) == whole)
    #expect(try scratch.cairn("verify", root: b).status == 0)
    #expect(try scratch.cairn("doctor", root: b).status == 0)
  }

  /// Also one that is shorter than it was: nothing here says how long that is.
  @Test(arguments: [false, true])
  func `a damaged content that no record refers to is fetched`(isShort: Bool) throws {
    try scratch.succeed("set", "t", "r", "--remove", "photo", root: b)
    let name = try #require(try scratch.files(below: "b").first { $0.hasSuffix(".blob") })
    let whole = try scratch.bytes("b/" + name)
    let damaged: [UInt8] = isShort ? Array(whole.dropLast()) : whole.reversed()
    _ = try scratch.write("b/" + name, damaged)
    #expect(try scratch.cairn("verify", root: b).status == 3)
    #expect(try scratch.succeed("blob", "fetch", root: b) == "fetched 1 attachment\n")
    #expect(try scratch.bytes("b/" + name) == whole)
    #expect(try scratch.cairn("verify", root: b).status == 0)
    #expect(try scratch.succeed("blob", "fetch", root: b) == "fetched 0 attachments\n")
  }

  private func putAside() throws -> [[UInt8]] {
    try scratch.files(below: "b").filter { $0.hasSuffix(".bad") }.map {
      try scratch.bytes("b/" + $0)
    }
  }

  /// - Parameter isAway: The folder is; else the copy there is damaged, too.
  @Test(arguments: [false, true])
  func `a damaged content that no record refers to stays until the right one can come`(
    isAway: Bool
  ) throws {
    try scratch.succeed("set", "t", "r", "--remove", "photo", root: b)
    let name = try #require(try scratch.files(below: "b").first { $0.hasSuffix(".blob") })
    let whole = try scratch.bytes("b/" + name)
    let damaged = [UInt8](whole.reversed())
    _ = try scratch.write("b/" + name, damaged)
    let copy = try #require(try scratch.files(below: "folder").first { $0.hasSuffix(".blob") })
    let (folder, away) = (scratch.path("folder"), scratch.path("away"))
    if isAway {
      try FileManager.default.moveItem(atPath: folder, toPath: away)
    } else {
      _ = try scratch.write("folder/" + copy, damaged)
    }
    for _ in 0..<2 {
      let fetched = try scratch.cairn("blob", "fetch", "--json", root: b)
      let told = try json(fetched.output)
      #expect(fetched.status == 1, "\(fetched)")
      #expect((told["problems"] as? [String])?.count == 1, "\(fetched)")
      #expect(told["fetched"] as? [String] == [] && told["putAside"] as? [String] == [])
      #expect(try scratch.bytes("b/" + name) == damaged)
      #expect(try putAside() == [])
      #expect(try scratch.cairn("verify", root: b).status == 3)
    }
    if isAway {
      try FileManager.default.moveItem(atPath: away, toPath: folder)
    } else {
      _ = try scratch.write("folder/" + copy, whole)
    }
    #expect(try scratch.succeed("blob", "fetch", root: b) == "fetched 1 attachment\n")
    #expect(try scratch.bytes("b/" + name) == whole)
    #expect(try scratch.files(below: "b").filter { $0.hasSuffix(".own") } == [])
    #expect(try putAside() == [damaged])
    #expect(try scratch.cairn("verify", root: b).status == 0)
    #expect(try scratch.succeed("blob", "fetch", root: b) == "fetched 0 attachments\n")
  }

  @Test func `one that nobody else has is put aside, and that is told`() throws {
    let file = try scratch.write("loose.txt", "loose")
    let id = try scratch.succeed("blob", "put", file, root: b)
      .trimmingCharacters(in: .newlines)
    let hash = String(id.prefix(64))
    let name = try #require(try scratch.files(below: "b").first { $0.contains(hash) })
    _ = try scratch.write("b/" + name, "moose")
    #expect(try scratch.cairn("verify", root: b).status == 3)
    let fetched = try json(scratch.succeed("blob", "fetch", "--json", root: b))
    #expect(fetched["putAside"] as? [String] == [id])
    #expect(fetched["fetched"] as? [String] == [] && fetched["problems"] as? [String] == [])
    #expect(!scratch.exists("b/" + name))
    let kept = try scratch.files(below: "b").filter { $0.hasSuffix(".bad") }
    #expect(try kept.map { try scratch.text("b/" + $0) } == ["moose"])
    #expect(try scratch.cairn("verify", root: b).status == 0)
  }

  @Test func `a dash is standard output`() throws {
    let text = try scratch.text("in.txt")
    for output in ["-o", "--output"] {
      #expect(try scratch.succeed("blob", "get", "t", "r", "photo", output, "-", root: b) == text)
    }
    #expect(!FileManager.default.fileExists(atPath: "-"))
  }

  @Test(arguments: [false, true])
  func `a pipe that has some of a content does not get it from the start again`(
    isNamed: Bool
  ) throws {
    let content = (0..<2_097_152).map { UInt8(truncatingIfNeeded: ($0 * 7) >> 3) }
    let file = try scratch.write("large.bin", content)
    try scratch.succeed("blob", "put", file, "t", "r", "large", root: a)
    try scratch.succeed("sync", root: a)
    try scratch.succeed("sync", root: b)
    try scratch.succeed("blob", "fetch", root: b)
    let name = try #require(
      try scratch.files(below: "b").first {
        try $0.hasSuffix(".blob") && scratch.bytes("b/" + $0).count == content.count
      })
    let path = scratch.path("pipe")
    let made = unsafe mkfifo(path, 0o600)
    try #require(made == 0)
    // Open before the tool is, so that it does not wait for that.
    let pipe = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(pipe >= 0)
    defer { close(pipe) }
    // As its standard output the pipe ends with the tool, whatever else opens it.
    let process = try Tool.start(
      ["blob", "get", "t", "r", "large"] + (isNamed ? ["-o", path] : []) + ["--root", b],
      output: path, errors: scratch.path("errors"))
    let isWaiting = fcntl(pipe, F_SETFL, 0)
    try #require(isWaiting == 0)
    let reader = FileHandle(fileDescriptor: pipe, closeOnDealloc: false)
    var given = try #require(try reader.read(upToCount: 1))
    // The whole was looked at by now, and most of its first piece waits for room in the pipe.
    let blob = try FileHandle(forUpdating: URL(filePath: scratch.path("b/" + name)))
    try blob.seek(toOffset: 2_097_151)
    try blob.write(contentsOf: Data([content[2_097_151] ^ 1]))
    try blob.close()
    given.append(try reader.readToEnd() ?? Data())
    #expect(Tool.wait(for: process) == 1)
    #expect(try scratch.text("errors").contains("is damaged"))
    // All pieces but the last one.
    #expect(given.count == 1_835_008)
    let isItsStart = [UInt8](given) == Array(content.prefix(given.count))
    #expect(isItsStart)
    let out = scratch.path("out.bin")
    try scratch.succeed("blob", "get", "t", "r", "large", "-o", out, root: b)
    let isWhole = try scratch.bytes("out.bin") == content
    #expect(isWhole)
  }
}
