import TestSupport
import Testing

/// What went out and was not changed comes back as it was.
@Suite struct UnchangedExportTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test func `an export to CSV that is imported again changes nothing`() throws {
    let file = try scratch.write(
      "in.jsonl",
      "{\"$id\":\"a\",\"empty\":\"\",\"n\":1}\n{\"$id\":\"b\",\"n\":2,\"text\":\"x\"}\n")
    try scratch.succeed("import", "t", file)
    let before = try scratch.succeed("export", "t")
    let out = scratch.path("out.csv")
    try scratch.succeed("export", "t", out)
    #expect(try scratch.text("out.csv").hasPrefix("\"$id\",\"empty\","))
    let imported = try scratch.succeed("import", "t", out)
    #expect(imported.contains("0 inserted, 0 updated, 2 unchanged"), "\(imported)")
    #expect(try scratch.succeed("export", "t") == before)
  }

  @Test func `a bare empty cell is an absent field there, too`() throws {
    let file = try scratch.write("in.csv", "$id,a,b\nx,1,\"\"\n")
    try scratch.succeed("import", "t", file)
    #expect(try scratch.succeed("export", "t") == "{\"$id\":\"x\",\"a\":1,\"b\":\"\"}\n")
    let later = try scratch.write("later.csv", "$id,a,b\nx,,\"\"\n")
    try scratch.succeed("import", "t", later)
    #expect(try scratch.succeed("export", "t") == "{\"$id\":\"x\",\"b\":\"\"}\n")
  }
}
