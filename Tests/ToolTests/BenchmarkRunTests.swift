#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// Benchmarks/run with a program that measures nothing and prints the figures that it is given.
  @Suite struct BenchmarkRunTests {
    private let bench: FakeBench
    private let figures = ["share_of_raw", "over_raw_us", "written_B"]

    init() throws {
      bench = try FakeBench()
      try FileManager.default.createDirectory(
        atPath: bench.scratch.path("swift/release"), withIntermediateDirectories: true)
      try bench.install("swift/release/cairn-bench", "cat \"$here/figures\"\n")
    }

    /// One round of the commits, of which these figures are printed; each meets its gate.
    private func run(_ figures: [String], peer: String = "cairn") throws -> Tool.Outcome {
      _ = try bench.scratch.write("figures", figures.map { "W1\tcairn\t\($0)\t1\n" }.joined())
      return try bench.run(
        "../Benchmarks/run",
        [
          "W1", "--peers", peer, "--rounds", "1", "--no-build", "--no-save", "--scratch",
          bench.scratch.path("."),
        ])
    }

    @Test func `gates that are met pass, and a figure without one may be missing`() throws {
      let outcome = try run(figures)
      #expect(outcome.status == 0, "\(outcome)")
      #expect(!outcome.output.contains("not measured: "))
    }

    @Test func `a figure with a gate that is not printed any more has not met it`() throws {
      for figure in figures {
        let outcome = try run(figures.filter { $0 != figure })
        #expect(outcome.status == 1, "\(outcome)")
        #expect(outcome.last == "not measured: W1 cairn: \(figure)")
      }
      let none = try run([])
      #expect(none.status == 1, "\(none)")
      let lines = none.output.split(separator: "\n").suffix(3).map(String.init)
      #expect(lines == figures.map { "not measured: W1 cairn: \($0)" })
    }

    @Test func `where a peer alone is asked for nothing of Cairn's is missing`() throws {
      let outcome = try run([], peer: "floor")
      #expect(outcome.status == 0, "\(outcome)")
      #expect(!outcome.output.contains("not measured: W1 cairn"))
    }
  }
#endif
