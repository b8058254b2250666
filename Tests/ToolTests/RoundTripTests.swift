import TestSupport
import Testing

@Suite struct RoundTripTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test func `CSV comes back as it went in`() throws {
    let csv = """
      "code","empty","name","number","real","yes"
      "A1","","say ""hi"", twice
      over lines",12,-0.5,true
      "B2",,"12",-9223372036854775808,1e+20,false
      "C3","x","true",,,

      """
    let file = try scratch.write("in.csv", csv)
    try scratch.succeed("import", "t", file, "--key", "code", "--keep-empty")
    try scratch.succeed("export", "t", scratch.path("out.csv"), "--key", "code")
    #expect(try scratch.text("out.csv") == csv)
    #expect(
      try scratch.succeed("get", "t", "B2")
        == "name=\"12\"\nnumber=-9223372036854775808\nreal=1e+20\nyes=false\n")
  }

  @Test func `empty cells are absent fields`() throws {
    let file = try scratch.write("in.csv", "\u{FEFF}code,a,b\r\nx,\"\",\r\n\r\ny,1,2\r\n")
    try scratch.succeed("import", "t", file, "--key", "code")
    let expected = "{\"$id\":\"x\"}\n{\"$id\":\"y\",\"a\":1,\"b\":2}\n"
    #expect(try scratch.succeed("export", "t") == expected)
  }

  @Test func `JSON lines keep every type`() throws {
    let lines = #"""
      {"$id":"a","bytes":{"$bytes":"AAECAw=="},"date":{"$date":-1},"double":12.0,"int":12}
      {"$id":"b","inf":{"$double":"inf"},"list":[1,1.5,true,"x"],"nan":{"$double":"nan"}}
      {"$id":"c","no":false,"small":5e-324,"text":"ü \"\\\u0000\n🧭","zero":-0.0}
      {"$id":"d","empty":"","largest":9223372036854775807,"nothing":[]}
      {"$id":"e"}

      """#
    let file = try scratch.write("in.jsonl", lines)
    try scratch.succeed("import", "t", file)
    #expect(try scratch.succeed("export", "t") == lines)
  }

  @Test func `escapes are read and null is absence`() throws {
    let file = try scratch.write(
      "in.jsonl", #" {"$id" : 7, "a":"\ud83e\udded\u00fc\/", "b":null}"# + "\r\n\n")
    try scratch.succeed("import", "t", file)
    #expect(try scratch.succeed("export", "t") == "{\"$id\":\"7\",\"a\":\"🧭ü/\"}\n")
  }

  @Test func `importing again changes only what differs`() throws {
    let first = try scratch.write("1.csv", "k,a,b\n1,x,1\n2,y,2\n3,z,3\n")
    try scratch.succeed("import", "t", first, "--key", "k")
    #expect(
      try json(scratch.succeed("import", "t", first, "--key", "k", "--json"))["unchanged"]
        as? Int == 3)
    let second = try scratch.write("2.csv", "k,a,b\n1,x,1\n2,y,\n3,Z,3\n4,n,4\n")
    let report = try json(scratch.succeed("import", "t", second, "--key", "k", "--json"))
    #expect(report["inserted"] as? Int == 1)
    #expect(report["updated"] as? Int == 2)
    #expect(report["unchanged"] as? Int == 1)
    #expect(report["commits"] as? Int == 1)
    try scratch.succeed("export", "t", scratch.path("out.csv"), "--key", "k")
    #expect(
      try scratch.text("out.csv")
        == "\"k\",\"a\",\"b\"\n\"1\",\"x\",1\n\"2\",\"y\",\n\"3\",\"Z\",3\n\"4\",\"n\",4\n")
  }

  @Test func `texts that differ in bytes only do differ`() throws {
    let composed = try scratch.write("1.jsonl", "{\"$id\":\"a\",\"t\":\"\u{E9}\"}\n")
    let decomposed = try scratch.write("2.jsonl", "{\"$id\":\"a\",\"t\":\"e\u{301}\"}\n")
    try scratch.succeed("import", "t", composed)
    #expect(try json(scratch.succeed("import", "t", decomposed, "--json"))["updated"] as? Int == 1)
    #expect(Array(try scratch.succeed("export", "t").utf8) == (try scratch.bytes("2.jsonl")))
  }

  @Test func `without a key every row gets an id of its own`() throws {
    let file = try scratch.write("in.csv", "a\n1\n1\n")
    try scratch.succeed("import", "t", file)
    #expect(try scratch.succeed("tables") == "t  2 records\n")
  }

  @Test func `standard input is read`() throws {
    let file = try scratch.write("in.txt", "{\"$id\":\"a\",\"n\":1}\n")
    let arguments = ["import", "t", "-", "--format", "jsonl", "--root", scratch.root]
    #expect(try Tool.run(arguments, input: file).status == 0)
    #expect(try scratch.succeed("get", "t", "a") == "n=1\n")
  }

  @Test func `an import beyond the delta limit becomes several commits`() throws {
    let text = String(repeating: "x", count: 60_000)
    let rows = (0..<60).map { "{\"$id\":\"\($0)\",\"text\":\"\(text)\"}\n" }.joined()
    let file = try scratch.write("in.jsonl", rows)
    let report = try json(scratch.succeed("import", "t", file, "--json"))
    #expect(report["inserted"] as? Int == 60)
    #expect(report["commits"] as? Int == 2)
    #expect(try scratch.succeed("tables") == "t  60 records\n")
  }
}
