#if os(Linux)
  import Foundation
  import TestSupport

  /// Where Tools/soak and Tools/fuzz find a programme and a fuzzer that are built already, and that
  /// only write down what they were asked for, and say what they are told to.
  struct FakeBench {
    let scratch: Scratch
    private let environment: [String: String]

    /// What Tools/soak runs.
    static let programmes = [
      "simulate", "crashes", "fuzz", "kills", "cuts", "errors", "calls", "failures", "blocks",
      "variants", "flips", "orders", "races", "full",
    ]

    init() throws {
      scratch = try Scratch()
      let files = FileManager.default
      for directory in ["bin", "corpus", "temporary"] {
        try files.createDirectory(
          atPath: scratch.path(directory), withIntermediateDirectories: true)
      }
      // What Tools/setup would try to install.
      for name in ["strace", "mkfs.ext4", "mkfs.xfs", "nbdfuse", "fusermount3", "gcc"] {
        try files.createSymbolicLink(
          atPath: scratch.path("bin/" + name), withDestinationPath: "/bin/false")
      }
      var settings = ProcessInfo.processInfo.environment
      settings["PATH"] = scratch.path("bin") + ":" + (settings["PATH"] ?? "/usr/bin:/bin")
      settings["TMPDIR"] = scratch.path("temporary")
      settings["CAIRN_TORTURE"] = scratch.path("CairnTorture")
      settings["CAIRN_FUZZER"] = scratch.path("fuzzer")
      settings["CAIRN_FUZZ_CORPUS"] = scratch.path("corpus")
      for name in ["CAIRN_TEST_CLOCK", "CAIRN_MUTATE_PATH", "CAIRN_BUILD_LOCK"] {
        settings[name] = nil
      }
      environment = settings
      try install("CairnTorture", Self.programme)
      try install("fuzzer", Self.fuzzer)
    }

    /// Makes a program of a script, which finds this directory as `$here`.
    ///
    /// The program itself is never open in this process: a child that another test starts meanwhile
    /// would keep it open, and what is open for writing can't be run.
    func install(_ name: String, _ script: String) throws {
      let plain = try scratch.write(
        name + ".script", "#!/bin/bash\nhere=\(scratch.path(""))\n" + script)
      let outcome = try Tool.run(
        ["-m", "755", plain, scratch.path(name)], program: "/usr/bin/install")
      guard outcome.status == 0 else { throw ToolFailure(outcome.errors) }
    }

    private struct ToolFailure: Error {
      var message: String

      init(_ message: String) { self.message = message }
    }

    /// What a programme or a target is to do instead of passing.
    func tell(_ name: String, _ what: String) throws { _ = try scratch.write(name + ".does", what) }

    /// - Parameter clock: What time it is, if the programmes are to move it on.
    func run(_ tool: String, _ arguments: [String], clock: Int? = nil) throws -> Tool.Outcome {
      try Tool.run(
        arguments, program: ProjectFile.path("Tools/" + tool), environment: settings(clock))
    }

    private func settings(_ clock: Int?) throws -> [String: String] {
      var settings = environment
      if let clock { settings["CAIRN_TEST_CLOCK"] = try scratch.write("clock", "\(clock)\n") }
      return settings
    }

    /// Starts a tool; what it prints goes to `said`.
    func start(_ tool: String, _ arguments: [String]) throws -> Int32 {
      try Tool.start(
        arguments, output: scratch.path("said"), errors: scratch.path("errors"),
        program: ProjectFile.path("Tools/" + tool), environment: environment)
    }

    /// Blocks its thread. A task that sleeps goes on when the pool has a thread for it, which may
    /// be minutes later while other tests block them all: what it waits for is over by then.
    func wait(until isThere: () throws -> Bool) throws {
      while try !isThere() { Thread.sleep(forTimeInterval: 0.005) }
    }

    /// One start of a programme, or of the fuzzer for a target.
    struct Asked {
      var name: String
      var arguments: String

      func word(after option: String) -> String {
        let words = arguments.split(separator: " ")
        let index = words.firstIndex { $0 == option } ?? words.endIndex
        return index + 1 < words.count ? String(words[index + 1]) : ""
      }
    }

    /// All starts of the programme so far, in order.
    func asked() throws -> [Asked] { try starts("asked") }

    /// All starts of the fuzzer so far, in order, by target.
    func fuzzed() throws -> [Asked] { try starts("fuzzed") }

    private func starts(_ file: String) throws -> [Asked] {
      guard scratch.exists(file) else { return [] }
      return try scratch.text(file).split(separator: "\n").map { line in
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        return Asked(name: words[0], arguments: words.count > 1 ? words[1] : "")
      }
    }
  }

  extension FakeBench {
    private static let common = """
      # ask FILE NAME ARGUMENTS...: writes down what it was asked for, and finds what it is told.
      ask() {
        does=$(cat "$here/$2.does" 2> /dev/null)
        if [ "$does" = hangs ]; then
          trap 'kill $! 2> /dev/null; echo > "$here/ended"; exit 143' TERM
        fi
        echo "${*:2}" >> "$here/$1"
        case $does in
          hangs)
            sleep 3600 &
            wait ;;
          "says nothing") exit ;;
        esac
      }
      # takes SECONDS: moves the clock on.
      takes() {
        if [ -n "${CAIRN_TEST_CLOCK:-}" ]; then
          echo $(($(cat "$CAIRN_TEST_CLOCK") + $1)) > "$CAIRN_TEST_CLOCK"
        fi
      }

      """

    private static let programme =
      common + """
        if [ "$1" = --help ]; then
          for name in \(programmes.filter { $0 != "fuzz" }.joined(separator: " ")); do
            if [ "$(cat "$here/$name.does" 2> /dev/null)" != "is not there" ]; then
              echo "  $name  Does it."
            fi
          done
          exit
        fi
        ask asked "$@"
        name=$1
        seconds=90
        words="$* "
        case $words in
          *" --seconds "*)
            words=${words#*--seconds }
            seconds=${words%% *} ;;
          *" --short "* | *" --stride 9 "*) seconds=10 ;;
          *" --long "*) seconds=3000 ;;
        esac
        echo "$name: seed 1"
        if [ "$does" = skips ]; then
          echo "skipped: power cuts (not root)"
          exit
        fi
        if [ "$does" = "fails at once" ]; then seconds=1; fi
        takes "$seconds"
        case $does in fails*)
          echo "Error: it does not hold"
          exit 1 ;;
        esac
        echo "$name: seed 7 fails, and again"
        echo "$name: it is not 5, but 6"
        echo "$name: again with it --seed 7 --seeds 1"
        echo "$name: a/file: 8 bits change nothing, in bytes 12"
        echo "$name: done 2000000000 (12 a second)"
        echo "$name: memory MiB 7"
        echo "$name: points of workload a 4"
        echo "$name: $name 3"
        if [ "$does" = "takes none" ]; then rain=0; else rain=3; fi
        echo "$name: fault rain $rain"
        echo "$name: seconds $seconds"

        """

    private static let fuzzer =
      common + """
        target=$CAIRN_FUZZ_TARGET
        ask fuzzed "$target" "$@"
        seconds=1
        corpus=
        for word in "$@"; do
          case $word in
            -artifact_prefix=*) found=${word#*=} ;;
            -max_total_time=*) seconds=${word#*=} ;;
            -*) ;;
            *) corpus=$word ;;
          esac
        done
        takes "$seconds"
        # The first replay finds nothing yet.
        if [ "$does" = finds ] && [[ $* != *" -runs=0 "* || -n $(ls "$corpus") ]]; then
          echo input > "$found/crash"
          echo "finding in $target: it does not hold"
          exit 77
        fi
        # An input that takes too long, each time or once.
        if [[ $does == waits* && $* != *" -runs=0 "* ]]; then
          if [ "$does" = waits ] || [ ! -e "$here/waited" ]; then
            echo > "$here/waited"
            echo input > "$found/timeout-1"
            exit 70
          fi
        fi
        echo "stat::number_of_executed_units: 3000000000"

        """
  }

  extension Tool.Outcome {
    /// The last line.
    var last: String { output.split(separator: "\n").last.map(String.init) ?? "" }
  }
#endif
