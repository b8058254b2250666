import TestSupport
import Testing

/// An export has the ids of the records in a column that no field of theirs has.
@Suite struct ExportKeyTests {
  @Test(arguments: ["csv", "jsonl"])
  func `a field that is called like the column of ids is not written over`(
    format: String
  ) throws {
    let scratch = try Scratch()
    try scratch.succeed("set", "t", "a", "n=1", "--insert")
    try scratch.succeed("set", "t", "b", "code=x", "--insert")
    let file = try scratch.write("out", "what was there")
    for target in ["-", file] {
      let refused = try scratch.cairn(
        "export", "t", target, "--format", format, "--key", "code")
      #expect(refused.status == 2 && refused.output == "", "\(refused)")
      #expect(refused.errors.contains("a field is named code, too: choose another --key"))
    }
    #expect(try scratch.text("out") == "what was there")
    let text = try scratch.succeed("export", "t", "--format", format, "--key", "id")
    #expect(text.contains("\"code\"") && text.contains("\"id\""))
    try scratch.succeed("export", "t", file, "--format", format, "--key", "id")
    #expect(try scratch.text("out") == text)
    // And it comes back.
    let other = scratch.path("other")
    try scratch.succeed("import", "t", file, "--format", format, "--key", "id", root: other)
    #expect(try scratch.succeed("get", "t", "b", root: other) == "code=\"x\"\n")
    #expect(try scratch.succeed("get", "t", "a", root: other) == "n=1\n")
  }
}
