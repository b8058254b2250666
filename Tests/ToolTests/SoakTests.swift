#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// Tools/soak with a programme that does nothing but what it is told to say.
  @Suite struct SoakTests {
    private let bench: FakeBench

    init() throws { bench = try FakeBench() }

    private func soak(_ arguments: String...) throws -> Tool.Outcome {
      try bench.run("soak", arguments)
    }

    @Test func `each programme runs at least once, and all that was done becomes a table`() throws {
      let table = bench.scratch.path("table")
      let outcome = try soak("--minutes", "0", "--seed", "5", "--table", table)
      #expect(outcome.status == 0, "\(outcome)")
      let asked = try bench.asked()
      let programmes = FakeBench.programmes.filter { $0 != "fuzz" }
      #expect(asked.map(\.name).sorted() == programmes.sorted())
      #expect(try bench.fuzzed().count == 28)
      #expect(asked.allSatisfy { $0.arguments.hasPrefix("--seed 1000005") })
      #expect(outcome.last == "14 runs passed, 0 failed, 0 skipped")
      let rows = try bench.scratch.text("table")
      #expect(outcome.output.contains(rows))
      #expect(rows.contains("\n| fuzz | runs that passed | 1 |  |\n"))
      for name in programmes {
        #expect(rows.contains("\n| \(name) | runs that passed | 1 |  |\n"))
        #expect(rows.contains("\n| \(name) | fault rain | 3 |  |\n"))
      }
      #expect(rows.contains("\n| fuzz | executions | 84000000000 | "))
      #expect(rows.contains(", 0 minutes ("))
      #expect(rows.contains(", seeds from 5 on;\n"))
    }

    @Test func `what fails keeps nothing else from running, and ends with its log`() throws {
      try bench.tell("kills", "fails")
      let outcome = try soak("--minutes", "0", "--seed", "5", "kills", "calls", "races", "full")
      #expect(outcome.status == 1)
      #expect(outcome.last == "3 runs passed, 1 failed, 0 skipped")
      #expect(try bench.asked().map(\.name).sorted() == ["calls", "full", "kills", "races"])
      #expect(outcome.output.contains("\nkills failed, seed 1000005: "))
      #expect(outcome.output.contains("\nError: it does not hold\n"))
      #expect(outcome.output.contains("\n| kills | runs that failed | 1 |  |\n"))
      #expect(outcome.output.contains("\n| races | runs that passed | 1 |  |\n"))
    }

    @Test func `other seeds run after one that failed, and no more than twenty fail`() throws {
      try bench.tell("kills", "fails")
      let outcome = try bench.run("soak", ["--minutes", "90", "--seed", "5", "kills"], clock: 0)
      #expect(outcome.status == 1)
      let seeds = try bench.asked().map { $0.word(after: "--seed") }
      #expect(seeds == ["1000005", "2000005", "3000005"])
      #expect(outcome.last == "0 runs passed, 3 failed, 0 skipped")
      let short = try FakeBench()
      try short.tell("kills", "fails at once")
      #expect(try short.run("soak", ["--minutes", "90", "kills"], clock: 0).status == 1)
      #expect(try short.asked().count == 20)
    }

    @Test func `figures are sums over all runs, as whole numbers`() throws {
      let outcome = try bench.run("soak", ["--minutes", "90", "kills"], clock: 0)
      #expect(outcome.status == 0)
      #expect(outcome.output.contains("\n| kills | runs that passed | 3 |  |\n"))
      #expect(outcome.output.contains("\n| kills | seconds | 5400 |  |\n"))
      #expect(outcome.output.contains("\n| kills | done | 6000000000 | 1111111.1 a second |\n"))
      #expect(outcome.output.contains("\n| kills | fault rain | 9 |  |\n"))
      // The first table has one row of each.
      #expect(outcome.output.contains("\n| kills | 9 kills |  | 3 passed, 0 failed, 5400 s |\n"))
      // Of what there is the most.
      #expect(outcome.output.contains("\n| kills | memory MiB | 7 |  |\n"))
      #expect(outcome.output.contains("\n| kills | points of workload a | 4 |  |\n"))
      // No figures, although they end like some.
      #expect(!outcome.output.contains("| again with "))
      #expect(!outcome.output.contains("| it is not 5, but"))
      #expect(!outcome.output.contains("bits change nothing"))
    }

    @Test func `a fault that was never taken is a failure`() throws {
      try bench.tell("races", "takes none")
      let outcome = try soak("--minutes", "0", "races", "full")
      #expect(outcome.status == 1)
      let words = "never taken in all of its runs (were they too few?): fault rain \n"
      #expect(outcome.output.contains("\nraces failed: " + words))
      #expect(outcome.last == "2 runs passed, 1 failed, 0 skipped")
    }

    @Test func `a programme that says nothing has not passed`() throws {
      try bench.tell("full", "says nothing")
      let outcome = try soak("--minutes", "0", "full")
      #expect(outcome.status == 1)
      #expect(outcome.output.contains("\nit ended without its figures\n"))
    }

    @Test func `what can't run here is skipped, and tried once`() throws {
      try bench.tell("cuts", "skips")
      let outcome = try bench.run("soak", ["--minutes", "90", "cuts"], clock: 0)
      #expect(outcome.status == 1)
      #expect(outcome.last == "0 runs passed, 0 failed, 1 skipped")
      #expect(try bench.asked().count == 1)
      #expect(outcome.output.contains("\n| cuts | skipped: power cuts (not root) | 1 |  |\n"))
    }

    // MARK: minutes

    @Test func `a programme that can be told how long to run is given all of its time`() throws {
      let outcome = try bench.run("soak", ["--minutes", "70", "simulate"], clock: 700)
      #expect(outcome.status == 0)
      let asked = try bench.asked()
      #expect(asked.map { $0.word(after: "--seconds") } == ["1800", "1800", "600"])
      // Alone it has both processors.
      #expect(asked.allSatisfy { $0.arguments.hasSuffix(" --keep-going --jobs 2") })
      #expect(try bench.scratch.text("clock") == "4900\n")
      #expect(outcome.output.contains(", 70 minutes (4200 s), "))
    }

    @Test func `one that can't begins with its shortest form, and takes the longest that fits`()
      throws
    {
      let outcome = try bench.run("soak", ["--minutes", "80", "crashes"], clock: 0)
      #expect(outcome.status == 0)
      let forms = try bench.asked().map { asked in
        let words = asked.arguments.split(separator: " ").dropFirst(2)
        return words.prefix { $0 != "--jobs" }.joined(separator: " ")
      }
      #expect(forms.prefix(3) == ["--short", "--long", ""])
      let ends = try #require(Int(try bench.scratch.text("clock").dropLast()))
      #expect(ends > 4700 && ends <= 4800 + 20)
    }

    @Test func `what failed tells nothing of how long a form takes`() throws {
      try bench.tell("crashes", "fails at once")
      #expect(try bench.run("soak", ["--minutes", "80", "crashes"], clock: 0).status == 1)
      let asked = try bench.asked()
      #expect(asked.count == 20 && asked.allSatisfy { $0.arguments.contains(" --short ") })
    }

    // MARK: ends

    @Test func `who interrupts it ends its programmes, and sees what was done`() throws {
      try bench.tell("kills", "hangs")
      let process = try bench.start("soak", ["--minutes", "1", "kills", "fuzz"])
      try bench.wait { try bench.asked().contains { $0.name == "kills" } }
      #expect(Tool.interrupt(process) == 130)
      #expect(bench.scratch.exists("ended"))
      let output = try bench.scratch.text("said")
      #expect(output.contains(", interrupted after "))
      #expect(output.hasSuffix(" failed, 0 skipped\n"))
    }

    @Test(
      arguments: [
        [], ["--minutes"], ["--minutes", "x"], ["--minutes", "08"], ["--minutes", "1", "--seed"],
        ["--minutes", "1", "--what"], ["--minutes", "1", "kill"],
        ["--minutes", "1", "--table", "/no/such/file"],
      ])
    func `what is used wrongly ends with 2, and runs nothing`(arguments: [String]) throws {
      let outcome = try bench.run("soak", arguments)
      #expect(outcome.status == 2)
      #expect(outcome.output.isEmpty && !outcome.errors.isEmpty)
      #expect(try bench.asked().isEmpty && bench.fuzzed().isEmpty)
    }

    // MARK: Tools/torture

    @Test func `a programme that Tools/torture wants and that is not there has failed`() throws {
      try bench.tell("cuts", "is not there")
      let outcome = try bench.run("torture", ["--ci"])
      #expect(outcome.status == 1)
      #expect(outcome.last == "12 passed, 1 failed, 0 skipped")
      let words = "CairnTorture does not name cuts among its programmes\n"
      #expect(outcome.output.contains(words))
      let there = FakeBench.programmes.filter { $0 != "fuzz" && $0 != "cuts" }
      #expect(try bench.asked().map(\.name).sorted() == there.sorted())
      let asked = try bench.run("torture", ["--ci", "full"])
      #expect(asked.status == 0)
      #expect(asked.last == "1 passed, 0 failed, 0 skipped")
    }

    @Test func `Tools/torture has failed if CairnTorture names no programme`() throws {
      for name in FakeBench.programmes { try bench.tell(name, "is not there") }
      let outcome = try bench.run("torture", ["--ci"])
      #expect(outcome.status == 1)
      #expect(outcome.last == "0 passed, 13 failed, 0 skipped")
      #expect(try bench.asked().isEmpty)
    }

    /// What it does not know it never runs.
    @Test func `it has all programmes, and so has Tools/torture`() throws {
      let help = try Tool.run(["--help"], program: "CairnTorture").output
      let there = help.split(separator: "\n").compactMap { line in
        line.firstMatch(of: /^  ([a-z]+)[ ]{2}/).map { String($0.1) }
      }
      // Writes the inputs that fuzzing begins with.
      let programmes = Set(there).subtracting(["seeds", "help"])
      #expect(programmes.union(["fuzz"]) == Set(FakeBench.programmes))
      let error = try soak("--minutes", "1", "nonsense").errors
      let names = error.split { $0 == " " || $0 == "\n" }.map(String.init)
      #expect(programmes.isSubset(of: names))
      let script = String(decoding: try ProjectFile.bytes("Tools/torture"), as: UTF8.self)
      for name in programmes {
        let plans = script.split(separator: "\n").filter { $0.hasPrefix(name + " ") }
        #expect(plans.count >= 2, "\(name) is not in both plans of Tools/torture")
      }
    }
  }
#endif
