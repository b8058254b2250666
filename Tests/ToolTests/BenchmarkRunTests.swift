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

    // MARK: what is kept

    /// A copy of all that keeping results writes to; the project's own stays as it is.
    private func copyPages() throws {
      let files = FileManager.default
      try files.createDirectory(
        atPath: bench.scratch.path("copy/Benchmarks/results"), withIntermediateDirectories: true)
      for name in [
        "README.md", "Benchmarks/run", "Benchmarks/goals.json", "Benchmarks/lib",
        "Benchmarks/results/latest.json",
      ] {
        try files.copyItem(
          atPath: ProjectFile.path(name), toPath: bench.scratch.path("copy/" + name))
      }
    }

    /// What the copy says of Cairn, by workload and metric.
    private func kept() throws -> [String: Double] {
      let results = try json(bench.scratch.text("copy/Benchmarks/results/latest.json"))
      let rows = try #require(results["rows"] as? [[String: Any]])
      var figures: [String: Double] = [:]
      for row in rows {
        let (workload, metric) = (row["workload"] as? String, row["metric"] as? String)
        guard let workload, let metric, let ours = row["ours"] as? Double else { continue }
        figures[workload + " " + metric] = ours
      }
      return figures
    }

    /// One round of the commits, of these peers, which keeps what it finds.
    private func keep(peers: String) throws -> Tool.Outcome {
      try Tool.run(
        [
          "python3", bench.scratch.path("copy/Benchmarks/run"), "W1", "--peers", peers, "--rounds",
          "1", "--no-build", "--scratch", bench.scratch.path("."),
        ], program: "/usr/bin/env")
    }

    @Test func `a run of a peer alone takes none of the kept figures away`() throws {
      try copyPages()
      let before = try kept()
      try #require(before["W1 share_of_raw"] != nil)
      try bench.install("bin/lmdb", "printf 'W1\\tlmdb\\tcommits_per_s\\t7\\n'\n")
      let alone = try keep(peers: "lmdb")
      #expect(alone.status == 0, "\(alone)")
      #expect(try kept() == before)
      // A run with ours does replace them.
      _ = try bench.scratch.write("figures", "W1\tcairn\tcommits_per_s\t5\n")
      _ = try keep(peers: "cairn,lmdb")
      var wanted = before
      wanted["W1 commits_per_s"] = 5
      #expect(try kept() == wanted)
    }
  }
#endif
