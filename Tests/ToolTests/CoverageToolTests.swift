#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// Tools/coverage with a compiler that does nothing, and a report that is given.
  @Suite struct CoverageToolTests {
    private let bench: FakeBench

    init() throws {
      bench = try FakeBench()
      try bench.install(
        "bin/swift",
        """
        echo "$*" >> "$here/asked"
        case "$*" in
          *--show-bin-path) echo "$here/build" ;;
          test*)
            mkdir -p "$here/build/codecov"
            touch "$here/build/a.xctest"
            echo > "$here/build/codecov/a.profraw"
            cat "$here/tested"
            exit "$(cat "$here/status" 2> /dev/null || echo 0)" ;;
        esac

        """)
      try bench.install("bin/llvm-cov", "cat \"$here/$1\"\n")
      try bench.install("bin/llvm-profdata", "exit 0\n")
      _ = try bench.scratch.write("tested", "✔ Test run with 12 tests passed after 1 second.\n")
      _ = try bench.scratch.write("show", "")
    }

    /// A report as llvm-cov writes it: regions, functions and lines of a file, and how many of each
    /// were never reached.
    private func report(_ files: (name: String, counts: [Int])...) throws {
      let rows = files.map { file in
        let cells = stride(from: 0, to: 6, by: 2).map { index in
          "\(file.counts[index])  \(file.counts[index + 1])  0.00%"
        }
        return file.name + "   " + cells.joined(separator: "   ") + "\n"
      }
      let heading = "Filename  Regions  Missed Regions  Cover  Functions  Missed Functions  "
      _ = try bench.scratch.write(
        "report", heading + "Executed  Lines  Missed Lines  Cover\n-----\n" + rows.joined()
          + "-----\nTOTAL  9  9  0.00%  9  9  0.00%  9  9  0.00%\n")
    }

    /// Of each file the lines that were never reached, as llvm-cov shows them.
    private func show(_ files: (name: String, count: Int)...) throws {
      let texts = files.map { file in
        ProjectFile.path("Sources/" + file.name) + ":\n"
          + (1...file.count).map { "    \($0)|      0|  x\n" }.joined()
      }
      _ = try bench.scratch.write("show", texts.joined())
    }

    private func whole(_ first: [Int] = [100, 0, 10, 0, 200, 0]) throws {
      let all = [10, 0, 5, 0, 40, 0]
      try report(
        ("CairnBytes/One.swift", first), ("CairnBytes/Deep/Two.swift", first),
        ("CairnDisk/A.swift", all), ("CairnLog/A.swift", all), ("CairnMerge/A.swift", all),
        ("CairnStore/A.swift", [10, 5, 4, 1, 40, 10]),
        ("Cairn/CairnBytes.swift", [8, 1, 4, 2, 9, 3]))
      try show(("CairnStore/A.swift", 10), ("Cairn/CairnBytes.swift", 3))
    }

    @Test func `figures are sums over the files of a module`() throws {
      try whole([100, 1, 10, 1, 200, 0])
      let outcome = try bench.run("coverage", ["--filter", "X"])
      #expect(outcome.status == 0, "\(outcome)")
      #expect(
        outcome.output.contains(
          """
          module        regions functions    lines
          CairnBytes     99.00%   90.00%  100.00%
          CairnDisk     100.00%  100.00%  100.00%
          CairnLog      100.00%  100.00%  100.00%
          CairnMerge    100.00%  100.00%  100.00%
          CairnStore     50.00%   75.00%   75.00%
          Cairn          87.50%   50.00%   66.67%

          """))
      #expect(outcome.last.hasSuffix("CairnBytes CairnDisk CairnLog CairnMerge: reached"))
      #expect(outcome.output.hasPrefix("Test run with 12 tests passed"))
      let tested = try bench.scratch.text("asked").split(separator: "\n").first {
        $0.hasPrefix("test ")
      }
      #expect(tested?.hasSuffix(" --enable-code-coverage --filter X") == true)
    }

    @Test func `what is demanded is a failure where that is asked for`() throws {
      // The report counts a line of a closure twice.
      try whole([100, 3, 10, 0, 200, 2])
      try show(("CairnBytes/One.swift", 1), ("CairnBytes/Deep/Two.swift", 1))
      let outcome = try bench.run("coverage", [])
      #expect(outcome.status == 0)
      #expect(outcome.output.contains("\nCairnBytes lacks 2 of 400 lines\n"))
      #expect(outcome.output.contains("\nCairnBytes lacks 6 of 200 regions, and may lack 4\n"))
      #expect(!outcome.output.contains("CairnStore lacks"))
      #expect(outcome.last.hasSuffix(": not reached"))
      #expect(try bench.run("coverage", ["--demand"]).status == 1)
      try whole()
      #expect(try bench.run("coverage", ["--demand"]).status == 0)
    }

    @Test func `places that no test reaches are listed`() throws {
      try whole()
      _ = try bench.scratch.write(
        "show",
        """
        \(ProjectFile.path("Sources/CairnBytes/One.swift")):
            1|       |struct A {
            3|     10|    guard n > 0 else { return 1 }
                                           ^0
            5|      0|      print("large")
            6|  1.20k|  }

        """)
      let outcome = try bench.run("coverage", ["--list"])
      #expect(outcome.status == 0)
      let places = outcome.output.split(separator: "\n").filter { $0.hasPrefix("Sources/") }
      #expect(
        places == [
          "Sources/CairnBytes/One.swift:3: a part of it is never reached",
          "Sources/CairnBytes/One.swift:5|      0|      print(\"large\")",
        ])
    }

    /// It was cut off: its process was ended while it wrote it.
    @Test func `a profile that can't be read fails nothing`() throws {
      try whole()
      _ = try bench.scratch.write("status", "1\n")
      let log = "✔ Test run with 12 tests passed after 1 second.\nerror: llvm-profdata merge a b\n"
      _ = try bench.scratch.write("tested", log)
      #expect(try bench.run("coverage", ["--demand"]).status == 0)
      try bench.install("bin/llvm-profdata", "echo none; exit 1\n")
      let outcome = try bench.run("coverage", [])
      #expect(outcome.status == 1)
      #expect(outcome.last == "coverage: nothing was measured")
    }

    /// Lines that were not shown would all count as reached.
    @Test func `nothing is measured where lines can't be shown`() throws {
      try whole()
      try FileManager.default.removeItem(atPath: bench.scratch.path("show"))
      for arguments in [[], ["--demand"]] as [[String]] {
        let outcome = try bench.run("coverage", arguments)
        #expect(outcome.status == 1, "\(outcome)")
        #expect(outcome.last == "coverage: nothing was measured")
        #expect(!outcome.output.contains("reached"))
      }
    }

    @Test func `nothing is measured where tests fail, or a module is not there`() throws {
      try report(("CairnBytes/One.swift", [1, 0, 1, 0, 1, 0]))
      let outcome = try bench.run("coverage", [])
      #expect(outcome.status == 1)
      #expect(outcome.output.contains("\nCairnDisk nothing\n"))
      _ = try bench.scratch.write("status", "1\n")
      _ = try bench.scratch.write("tested", "✘ Test a failed after 1 second\n")
      let failed = try bench.run("coverage", [])
      #expect(failed.status == 1)
      #expect(failed.output == "✘ Test a failed after 1 second\ncoverage: the tests failed\n")
    }
  }
#endif
