#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// Tools/mutate with a compiler that does nothing, and tests that do what they are told.
  @Suite struct MutateToolTests {
    private let bench: FakeBench
    private let only = ["--only", "Sources/CairnBytes/ByteLoads.swift"]
    /// The numbers of the conditions of that file.
    private let numbers: [String]

    init() throws {
      bench = try FakeBench()
      try FileManager.default.createDirectory(
        atPath: bench.scratch.path("build"), withIntermediateDirectories: true)
      try bench.install(
        "bin/swift", "case \"$*\" in *--show-bin-path) echo \"$here/build\" ;; esac\n")
      try bench.install(
        "build/a.xctest",
        """
        echo "$CAIRN_MUTATION $*" >> "$here/asked"
        echo '◇ Test "one that knows it" started.'
        if [ "$CAIRN_MUTATION" = -1 ]; then cat "$here/places"; fi
        case $(cat "$here/$CAIRN_MUTATION.does" 2> /dev/null) in
          fails)
            echo "✘ Test one that knows it failed after 1 second"
            sleep 100 ;;
          crashes) kill -TRAP $$ ;;
          "is killed") kill -KILL $$ ;;
          "is killed once")
            rm "$here/$CAIRN_MUTATION.does"
            kill -KILL $$ ;;
        esac
        echo '✔ Test "one that knows it" passed after 0.1 seconds.'
        echo "✔ Test run with 12 tests passed after 1 second."

        """)
      let list = try bench.run("mutate", only + ["--list"]).output
      numbers = list.split(separator: "\n").dropFirst().map {
        String($0.prefix { $0.isNumber })
      }
      // The tests come by all but the last.
      _ = try bench.scratch.write(
        "places", numbers.dropLast().map { "place \($0)\n" }.joined())
    }

    private func row(_ number: String, in outcome: Tool.Outcome) -> String? {
      outcome.output.split(separator: "\n").first { $0.hasPrefix("| \(number) |") }.map(String.init)
    }

    @Test func `a condition is found out by the first test that fails, or by nothing`() throws {
      try #require(numbers.count > 3)
      try bench.tell(numbers[1], "fails")
      try bench.tell(numbers[3], "crashes")
      let outcome = try bench.run("mutate", only)
      #expect(outcome.status == 1)
      #expect(outcome.last == "2 found out, \(numbers.count - 2) survived", "\(outcome)")
      #expect(row(numbers[0], in: outcome)?.hasSuffix("| **nothing** |") == true)
      let last = try #require(numbers.last)
      #expect(row(last, in: outcome)?.hasSuffix("| **nothing comes by** |") == true)
      let failed = "| one that knows it |"
      #expect(row(numbers[1], in: outcome)?.hasSuffix(failed) == true)
      let crashed = "| ended by SIGTRAP |"
      #expect(row(numbers[3], in: outcome)?.hasSuffix(crashed) == true)
      let asked = try bench.asked()
      #expect(asked.count { $0.name == numbers[0] } == 1)
      #expect(asked.count { $0.name == numbers[1] } == 1)
      #expect(!asked.contains { $0.name == last })
      let words = asked.first { $0.name == numbers[0] }.map(\.arguments)
      #expect(words?.contains("(one\\ that\\ knows\\ it)") == true)
    }

    @Test func `nothing may survive among a few`() throws {
      for number in numbers { try bench.tell(number, "fails") }
      _ = try bench.scratch.write("places", numbers.map { "place \($0)\n" }.joined())
      let outcome = try bench.run("mutate", only)
      #expect(outcome.status == 0)
      #expect(outcome.last == "\(numbers.count) found out, 0 survived", "\(outcome)")
    }

    /// The system kills what takes too much memory, which others may have taken.
    @Test func `what is killed is tried again, after all others`() throws {
      try #require(numbers.count > 1)
      try bench.tell(numbers[0], "is killed")
      try bench.tell(numbers[1], "is killed once")
      let outcome = try bench.run("mutate", only)
      #expect(outcome.last == "1 found out, \(numbers.count - 1) survived", "\(outcome)")
      #expect(row(numbers[0], in: outcome)?.contains("SIGKILL") == true)
      let asked = try bench.asked().map(\.name)
      #expect(asked.firstIndex(of: numbers[1]) ?? 0 < asked.firstIndex(of: numbers[2]) ?? 0)
      #expect(asked.lastIndex(of: numbers[1]) ?? 0 > asked.lastIndex(of: numbers[2]) ?? 0)
    }

    @Test func `each condition of the copy has its own number`() throws {
      let first = try #require(numbers.first)
      _ = try bench.run("mutate", only + ["--sample", "1"])
      let copy = try bench.scratch.text("temporary/cairn-mutate/tree/" + only[1])
      for number in numbers {
        #expect(copy.components(separatedBy: "mutatedCairnBytes(\(number), ").count == 2)
      }
      let whole = try #require(Int(first)) + numbers.count
      #expect(!copy.contains("mutatedCairnBytes(\(whole), "))
    }

    @Test func `a sample is the same for the same seed`() throws {
      func list(_ arguments: [String]) throws -> String {
        try bench.run("mutate", ["--list", "--sample", "20"] + arguments).output
      }
      #expect(try list([]) == list(["--seed", "1"]))
      #expect(try list([]) != list(["--seed", "2"]))
      #expect(try list([]).split(separator: "\n").count == 21)
    }

    @Test func `what an earlier run has tried is left out, as many times`() throws {
      func left(_ earlier: String) throws -> [String] {
        let file = try bench.scratch.write("earlier", earlier)
        return try bench.run("mutate", ["--list", "--except", file]).output
          .split(separator: "\n").dropFirst().map(String.init)
      }
      let every = try left("")
      #expect(try left(every.joined(separator: "\n")) == [])

      // The same words, twice in one source file.
      let words = every.map { line in
        line.split(separator: " ", maxSplits: 1)[1].replacing(#/:[0-9]+: /#, with: " ")
      }
      let place = try #require(words.indices.last { words[..<$0].contains(words[$0]) })
      let moved = every[place].replacing(#/:[0-9]+: /#, with: ":1: ")
      #expect(try left(moved).count == every.count - 1)
      var others = every
      others.remove(at: place)
      #expect(try left(every[place]) == others, "the one at that line, and not the first")
      #expect(try left(moved + "\n" + moved).count == every.count - 2)

      // A row of a table, with a bar in it.
      let bar = try #require(every.first { $0.contains("||") })
      let parts = try #require(bar.wholeMatch(of: #/(\d+) (\S+): (.*)/#)?.output)
      let escaped = parts.3.replacing("|", with: "\\|")
      let without = try left("| \(parts.1) | \(parts.2) | `\(escaped)` | **nothing** |\n")
      #expect(without.count == every.count - 1)
      #expect(try without == left(bar))
    }

    @Test func `nothing is turned around before all tests pass`() throws {
      try bench.tell("-1", "fails")
      let outcome = try bench.run("mutate", only)
      #expect(outcome.status == 1)
      let said = outcome.errors
      #expect(said.hasPrefix("without a mutation ^Cairn"), "\(outcome)")
      #expect(said.hasSuffix(" does not pass: one that knows it\n"), "\(outcome)")
      #expect(try bench.asked().allSatisfy { $0.name == "-1" })
    }
  }
#endif
