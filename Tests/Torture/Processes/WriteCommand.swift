import ArgumentParser
import Cairn
import CairnDisk

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Which datastore, and what is in it.
struct PlaceOptions: ParsableArguments {
  @Option(name: .long) var root: String
  @Option(name: .long) var folder: String?
  @Option(name: .long) var user = "a"
  @Option(name: .long) var writer = "a"
  @Option(name: .long) var contentSeed: UInt64 = 1
  @Option(name: .long) var payload = 200
  @Option(name: .long, help: "full, periodic or none.") var durability = "full"

  var place: StorePlace {
    get throws {
      var place = StorePlace(root: root)
      place.folder = folder
      place.user = user
      place.durability =
        switch durability {
        case "full": .full
        case "periodic": .periodic(seconds: 0.1)
        case "none": .none
        default: throw ValidationError("--durability is full, periodic or none")
        }
      return place
    }
  }

  var content: Content { Content(writer: writer, seed: contentSeed, payload: payload) }

  /// The same as arguments.
  static func arguments(_ place: StorePlace, _ content: Content) -> [String] {
    var words = [
      "--root", place.root, "--user", place.user, "--writer", content.writer, "--content-seed",
      "\(content.seed)", "--payload", "\(content.payload)",
    ]
    if let folder = place.folder { words += ["--folder", folder] }
    switch place.durability {
    case .periodic: words += ["--durability", "periodic"]
    case .none: words += ["--durability", "none"]
    default: break
    }
    return words
  }
}

/// The process that is killed, cut and starved by the other programmes.
struct WriteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "write", abstract: "Commits in a loop, and says which commits are durable.",
    shouldDisplay: false)

  @OptionGroup var place: PlaceOptions
  @Option(name: .long) var commits = 1_000_000
  @Option(name: .long) var compactEvery = 0
  @Option(name: .long) var exchangeEvery = 0
  @Option(name: .long) var discardEvery = 0
  @Flag(name: .long, help: "Compacts on a thread of its own, all the time.") var compacting = false
  @Flag(name: .long, help: "Goes on after errors.") var persist = false
  @Flag(name: .long, help: "Says that a commit is durable before it is.") var careless = false
  @Flag(name: .long) var times = false
  @Option(name: .long, help: "A file for what it is at.") var phases: String?
  @Option(name: .long, help: "Most bytes of a file; the signal is ignored.") var fileBytes: UInt64?
  @Option(name: .long, help: "After so many seconds it ends by itself.") var seconds: UInt32 = 60

  func run() async throws {
    alarm(seconds)
    if let fileBytes {
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: rlim_t(fileBytes), rlim_max: rlim_t(fileBytes))
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    }
    var writer = Writer(place: try place.place, content: place.content)
    writer.compactEvery = compactEvery
    writer.exchangeEvery = exchangeEvery
    writer.discardEvery = discardEvery
    writer.persists = persist
    writer.order = careless ? .careless : .careful
    writer.showsTimes = times
    writer.isCompacting = compacting
    if let phases { writer.phases = try PhaseFile(phases) }
    do { try await writer.run(commits: commits) } catch let error as Writer.GaveUp {
      print("gaveup \(error.last.code.rawValue)")
      throw ExitCode(9)
    }
  }
}

/// Looks at what a writer left.
struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Checks the datastore of a writer.", shouldDisplay: false)

  @OptionGroup var place: PlaceOptions
  @Option(name: .long, help: "The last commit that was acknowledged.") var acked = 0

  func run() async throws {
    var finding = Finding()
    let n = try Checker(place: place.place, contents: [place.content])
      .check(acked: acked, &finding)
    print("holds \(n[0]) commits, \(finding.notes.count) mended")
    for note in finding.notes { print(note) }
  }
}
