import Foundation
import TestSupport
import Testing

/// What becomes of the file that a command writes to, if there is something already.
@Suite struct ReplacedFileTests {
  let scratch: Scratch
  private let line = "{\"$id\":\"a\",\"n\":1}\n"

  init() throws {
    scratch = try Scratch()
    try scratch.succeed("set", "t", "a", "n=1", "--insert")
  }

  private func export(_ name: String) throws -> Tool.Outcome {
    try scratch.cairn("export", "t", scratch.path(name), "--format", "jsonl")
  }

  private func permissions(_ name: String) -> mode_t? {
    var status = stat()
    return unsafe stat(scratch.path(name), &status) == 0 ? status.st_mode & 0o777 : nil
  }

  private func leftovers() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.path(".")).filter {
      $0.hasSuffix(".partial")
    }
  }

  @Test(arguments: [0o600, 0o640, 0o666] as [mode_t])
  func `a file keeps its permissions`(mode: mode_t) throws {
    let path = try scratch.write("out", "what was there before")
    let code = unsafe chmod(path, mode)
    try #require(code == 0)
    #expect(try export("out").status == 0)
    #expect(try scratch.text("out") == line)
    #expect(permissions("out") == mode)
    #expect(try leftovers() == [])
  }

  @Test func `a link stays one, and what it leads to is written`() throws {
    _ = try scratch.write("target", "before")
    for target in ["target", "new"] {
      let link = scratch.path("to-" + target)
      try FileManager.default.createSymbolicLink(
        atPath: link, withDestinationPath: scratch.path(target))
      #expect(try export("to-" + target).status == 0)
      #expect(
        try FileManager.default.destinationOfSymbolicLink(atPath: link) == scratch.path(target))
      #expect(try scratch.text(target) == line)
    }
    #expect(try leftovers() == [])
  }

  @Test func `a pipe is written into`() throws {
    let code = unsafe mkfifo(scratch.path("pipe"), 0o600)
    try #require(code == 0)
    // Open for both, so that nobody waits for the other side.
    let pipe = unsafe open(scratch.path("pipe"), O_RDWR | O_NONBLOCK)
    try #require(pipe >= 0)
    defer { close(pipe) }
    var bytes = [UInt8](repeating: 0, count: 100)
    for _ in 0..<2 {
      #expect(try export("pipe").status == 0)
      let count = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe read(pipe, buffer.baseAddress, buffer.count)
      }
      #expect(Array(bytes.prefix(max(0, count))) == Array(line.utf8))
    }
    #expect(try leftovers() == [])
  }

  /// Runs it with the tool as `$0`, the root as `$1` and a file as `$2`.
  private func shell(_ script: String) throws -> Tool.Outcome {
    try Tool.run(
      ["-c", script, Tool.directory + "cairn", scratch.root, scratch.path("said")],
      program: "/bin/sh")
  }

  private static func command(_ output: String) -> String {
    "\"$0\" export t \(output) --format jsonl --root \"$1\""
  }

  @Test(arguments: ["/dev/stdout", "/dev/fd/1", "/dev/fd/3", "/dev/stderr"])
  func `standard output by another name has the records, and what comes next is behind them`(
    output: String
  ) throws {
    for (redirection, start) in [(">", ""), (">>", "before\n")] {
      _ = try scratch.write("said", "before\n")
      let outcome = try shell(
        "{ \(Self.command(output)) && echo end; } \(redirection) \"$2\" 2>&1 3>&1")
      #expect(outcome.status == 0, "\(outcome)")
      #expect(try scratch.text("said") == start + line + "end\n")
    }
  }

  @Test func `what a process has open is added to, and other files in dev are files`() throws {
    _ = try scratch.write("said", "before\n")
    for _ in 0..<2 {
      let before = try scratch.text("said")
      let outcome = try shell(Self.command("/dev/fd/3") + " 3>> \"$2\"")
      #expect(outcome.status == 0)
      #expect(outcome.output == "1 record of t into /dev/fd/3\n")
      #expect(try scratch.text("said") == before + line)
    }
    // Memory that has names: no place of devices.
    guard FileManager.default.isWritableFile(atPath: "/dev/shm") else { return }
    let file = "/dev/shm/cairn-test-\(UUID().uuidString)"
    defer { unsafe unlink(file) }
    #expect(try scratch.cairn("export", "t", file, "--format", "jsonl").status == 0)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == line)
  }

  @Test func `what a command left that was killed goes with the next one, days later`() throws {
    // The last two have no names of its own.
    for name in [".cairn-1f.partial", ".cairn-2a.partial", ".cairn-note.partial", "1f.partial"] {
      let path = try scratch.write(name, "half")
      if name == ".cairn-2a.partial" { continue }
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -172_800)], ofItemAtPath: path)
    }
    #expect(try export("out").status == 0)
    #expect(try scratch.text("out") == line)
    #expect(
      try leftovers().sorted() == [".cairn-2a.partial", ".cairn-note.partial", "1f.partial"])
  }

  @Test func `where nothing can be written nothing is left`() throws {
    try FileManager.default.createDirectory(
      atPath: scratch.path("directory"), withIntermediateDirectories: false)
    #expect(try export("directory").status != 0)
    #expect(try export("none/out").status != 0)
    // The new file is written beside it as a whole, and can't get a name that is too long.
    let unnamed = try export(String(repeating: "x", count: 300))
    #expect(unnamed.status == 1 && unnamed.errors.contains("can't replace "), "\(unnamed)")
    #expect(try scratch.files(below: "directory") == [])
    #expect(try leftovers() == [])
  }
}
