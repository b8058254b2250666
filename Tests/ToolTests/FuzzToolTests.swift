#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// Tools/fuzz with a fuzzer that does nothing but what it is told to say.
  @Suite struct FuzzToolTests {
    private let bench: FakeBench

    init() throws { bench = try FakeBench() }

    private static let targets = [
      "frame", "lz4", "names", "files", "delta", "text", "block", "cdb", "segment", "snapshot",
      "packs", "blob", "folder", "store",
    ]

    private func figures(_ output: String) -> [Substring] {
      output.split(separator: "\n").filter { $0.hasPrefix("fuzz: executions ") }
    }

    @Test func `all targets share the time, after a replay of each`() throws {
      let outcome = try bench.run("fuzz", ["--minutes", "2", "--jobs", "1"], clock: 0)
      #expect(outcome.status == 0, "\(outcome)")
      let asked = try bench.fuzzed()
      #expect(asked.map(\.name) == Self.targets.flatMap { [$0, $0] })
      for (index, asked) in asked.enumerated() {
        #expect(asked.arguments.contains(" -runs=0 ") == (index % 2 == 0))
      }
      let times = asked.compactMap { asked in
        asked.arguments.firstMatch(of: /-max_total_time=([0-9]+)/).flatMap { Int($0.1) }
      }
      #expect(times.count == 14 && times.allSatisfy { (7...8).contains($0) })
      // Of which each replay takes a second.
      #expect((119...121).contains(times.reduce(14, +)))
      #expect(outcome.output.contains("\nfuzz: seconds \(times.reduce(14, +))\n"))
    }

    @Test func `so many inputs are shared by what they cost, and no clock ends them`() throws {
      let outcome = try bench.run("fuzz", ["--runs", "1000000"])
      #expect(outcome.status == 0, "\(outcome)")
      var inputs: [String: Int] = [:]
      for asked in try bench.fuzzed() {
        #expect(!asked.arguments.contains("-max_total_time"))
        let runs = asked.arguments.firstMatch(of: /-runs=([0-9]+)/).flatMap { Int($0.1) }
        inputs[asked.name, default: 0] += try #require(runs)
      }
      #expect(Set(inputs.keys) == Set(Self.targets))
      #expect((1_000_000...1_000_014).contains(inputs.values.reduce(0, +)))
      #expect(inputs["frame"] ?? 0 > 1000 * (inputs["store"] ?? .max))
      // Of one target all are its own.
      _ = try bench.run("fuzz", ["--runs", "500", "store"])
      #expect(try bench.fuzzed().last?.arguments.contains("-runs=501 ") == true)
    }

    @Test func `a target is driven by the fuzzer that has the least beside it`() throws {
      for name in ["CairnFuzzBytesDriver", "CairnFuzzStoreDriver"] {
        try bench.install(
          name, "echo $CAIRN_FUZZ_TARGET >> $here/\(name).ran\n"
            + "echo stat::number_of_executed_units: 1\n")
      }
      let outcome = try bench.run("fuzz", ["--seconds", "1", "--jobs", "1"])
      #expect(outcome.status == 0, "\(outcome)")
      func ran(_ name: String) throws -> Set<Substring> {
        Set(try bench.scratch.text(name + ".ran").split(separator: "\n"))
      }
      #expect(try ran("CairnFuzzBytesDriver") == ["frame", "lz4"])
      #expect(
        try ran("CairnFuzzStoreDriver")
          == ["segment", "snapshot", "block", "names", "delta", "packs", "store"])
      #expect(
        Set(try bench.fuzzed().map(\.name)) == ["files", "folder", "text", "cdb", "blob"])
    }

    @Test func `figures of each target and of all are whole numbers`() throws {
      let outcome = try bench.run("fuzz", ["--seconds", "1"])
      #expect(outcome.status == 0)
      let figures = figures(outcome.output)
      #expect(figures.count == 15)
      for (figure, target) in zip(figures, Self.targets) {
        #expect(figure.hasPrefix("fuzz: executions of \(target) 6000000000 ("))
      }
      #expect(figures.last?.hasPrefix("fuzz: executions 84000000000 (") == true)
      #expect(
        outcome.last == "fuzz: 84000000000 executions of 14 targets, 0 with findings, 0 never run")
    }

    @Test func `a finding is kept, and ends its own target only`() throws {
      try bench.tell("lz4", "finds")
      let outcome = try bench.run("fuzz", ["--seconds", "1"])
      #expect(outcome.status == 1)
      #expect(Set(try bench.fuzzed().map(\.name)) == Set(Self.targets))
      let kept = try bench.scratch.files(below: "corpus")
      #expect(kept.count == 1)
      #expect(kept.first?.hasPrefix("lz4/finding-") == true)
      #expect(outcome.output.contains("fuzz: lz4: finding kept as \(kept.first ?? "?")\n"))
      #expect(outcome.output.contains("\nfinding in lz4: it does not hold\n"))
      #expect(outcome.last.hasSuffix(" 1 with findings, 0 never run"))
      // From now on the replay finds it, and it is not kept twice.
      let again = try bench.run("fuzz", ["--seconds", "1", "lz4"])
      #expect(again.status == 1)
      #expect(again.output.contains("fuzz: lz4: in the corpus as \(kept.first ?? "?")\n"))
      #expect(try bench.scratch.files(below: "corpus") == kept)
    }

    @Test func `an input that takes too long is a finding if it does so again`() throws {
      try bench.tell("lz4", "waits")
      let outcome = try bench.run("fuzz", ["--seconds", "1", "lz4"])
      #expect(outcome.status == 1)
      #expect(try bench.scratch.files(below: "corpus").count == 1)
      #expect(outcome.last.hasSuffix(" 1 with findings, 0 never run"))
    }

    @Test func `one that does so once is none, and the target goes on`() throws {
      try bench.tell("lz4", "waits once")
      let outcome = try bench.run("fuzz", ["--seconds", "1", "lz4"])
      #expect(outcome.status == 0, "\(outcome)")
      #expect(outcome.output.contains("fuzz: lz4: an input took too long, but not again: "))
      #expect(try bench.scratch.files(below: "corpus").isEmpty)
      #expect(try bench.fuzzed().count { $0.arguments.contains("-max_total_time=1 ") } == 2)
      #expect(
        outcome.last == "fuzz: 6000000000 executions of 1 targets, 0 with findings, 0 never run")
    }

    @Test func `a target that was never run is a failure`() throws {
      try bench.tell("text", "says nothing")
      let outcome = try bench.run("fuzz", ["--seconds", "1", "text", "cdb"])
      #expect(outcome.status == 1)
      #expect(outcome.output.contains("fuzz: text was never run:\n"))
      #expect(outcome.last.hasSuffix(" of 2 targets, 0 with findings, 1 never run"))
    }

    @Test func `who interrupts it ends the fuzzer`() throws {
      try bench.tell("text", "hangs")
      let process = try bench.start("fuzz", ["--minutes", "1", "text", "cdb"])
      try bench.wait { try bench.fuzzed().count >= 3 }
      #expect(Tool.interrupt(process) == 130)
      #expect(bench.scratch.exists("ended"))
      #expect(try bench.scratch.text("said").contains("\nfuzz: executions of cdb "))
    }

    @Test func `building only says where the fuzzer is`() throws {
      let outcome = try bench.run("fuzz", ["--build"])
      #expect(outcome.status == 0)
      #expect(outcome.output == bench.scratch.path("fuzzer") + "\n")
      #expect(try bench.fuzzed().isEmpty)
    }

    @Test(
      arguments: [
        ["--seconds"], ["--seconds", "x"], ["--minutes", "1.5"], ["--jobs", "0"],
        ["--runs"], ["--runs", "0"], ["--what"],
        ["nonsense"],
      ])
    func `what is used wrongly ends with 2, and runs nothing`(arguments: [String]) throws {
      let outcome = try bench.run("fuzz", arguments)
      #expect(outcome.status == 2)
      #expect(outcome.output.isEmpty && !outcome.errors.isEmpty)
      #expect(try bench.fuzzed().isEmpty)
    }

    @Test func `it has all targets`() throws {
      let path = "Tests/Fuzz/Entries/FuzzTarget.swift"
      let source = String(decoding: try ProjectFile.bytes(path), as: UTF8.self)
      let cases = source.matches(of: /\n  case ([a-z0-9]+)\n/).map { String($0.1) }
      #expect(Set(cases) == Set(Self.targets))
      let error = try bench.run("fuzz", ["nonsense"]).errors
      let names = error.split { $0 == " " || $0 == "\n" }.map(String.init)
      #expect(Set(cases).isSubset(of: names))
    }
  }
#endif
