import Workload

/// People who type at the same time, each on a device with a folder of its own. Files are carried
/// from folder to folder as the recording says that people knew of each other's keystrokes.
final class Writers {
  /// What was new in a folder after a transaction, and what was gone.
  private struct Publication {
    var transaction: Int
    var files: [(name: String, bytes: [UInt8])]
    var removed: [String]
  }

  private struct Writer {
    var store: Store
    var text: Text
    var folder: String
    var published: [Publication] = []
    var sizes: [String: Int] = [:]
    /// How much of each other one's was carried here.
    var carried: [Int]
    /// The last transaction that it made.
    var last = -1
  }

  private let trace: Trace
  private let directory: String
  private var writers: [Writer] = []

  init(_ trace: Trace, in directory: String) async throws {
    self.trace = trace
    self.directory = directory
    Files.makeDirectory(directory)
    let first = try Store(
      directory + "/0", durable: false, folder: directory + "/folder0", tidies: true)
    try first.makeText("text")
    try first.commit()
    try await first.exchange()
    for person in 0..<trace.people {
      let folder = directory + "/folder\(person)"
      if person > 0 { try copyFolder(to: folder) }
      let store =
        person == 0
        ? first : try Store(directory + "/\(person)", durable: false, folder: folder, tidies: true)
      try await store.exchange()
      try store.commit()
      writers.append(
        Writer(
          store: store, text: try store.text("text"), folder: folder,
          carried: [Int](repeating: 0, count: trace.people)))
    }
    for person in writers.indices { _ = changed(person) }
  }

  private func copyFolder(to folder: String) throws {
    Files.makeDirectory(folder)
    try Writers.copy(Files.sizes(directory + "/folder0/*.json"), below: "/folder0", to: folder)
    try Writers.copy(Files.sizes(directory + "/folder0/*/*"), below: "/folder0", to: folder)
  }

  private static func copy(_ sizes: [String: Int], below: String, to folder: String) throws {
    for path in sizes.keys.sorted() {
      let name = Files.tail(path, behind: below)
      Files.makeDirectory(folder + Files.parent(name))
      guard let bytes = Files.content(path), Files.write(folder + name, bytes) else {
        throw Missing()
      }
    }
  }

  /// What has changed since this was last asked.
  private func changed(_ person: Int) -> Publication {
    let device = writers[person].store.device
    let folder = "/folder\(person)"
    let sizes = Files.sizes(writers[person].folder + "/*/" + device + "*")
    let known = writers[person].sizes
    writers[person].sizes = sizes
    let new = sizes.keys.sorted().filter { $0.hasSuffix(".head") || known[$0] == nil }
    let gone = known.keys.filter { sizes[$0] == nil }
    return Publication(
      transaction: writers[person].last,
      files: new.map { (Files.tail($0, behind: folder), Files.content($0) ?? []) },
      removed: gone.map { Files.tail($0, behind: folder) })
  }

  func run() async throws {
    // Transactions that somebody else builds on: after each of them its author publishes.
    var isAwaited = [Bool](repeating: false, count: trace.starts.count)
    for turn in trace.turns {
      for person in 0..<trace.people where person != turn.person && turn.known[person] >= 0 {
        isAwaited[turn.known[person]] = true
      }
    }
    for turn in trace.turns {
      try await learn(turn)
      let writer = writers[turn.person]
      for transaction in turn.transactions {
        for patch in trace.patches(of: transaction) { try writer.text.perform(patch) }
        try writer.store.commit()
        writers[turn.person].last = transaction
        if isAwaited[transaction] { try await publish(turn.person) }
      }
    }
    for person in writers.indices { try await publish(person) }
  }

  private func publish(_ person: Int) async throws {
    try await writers[person].store.exchange()
    writers[person].published.append(changed(person))
  }

  /// Brings what the author of a turn knew when it began.
  private func learn(_ turn: Trace.Turn) async throws {
    let me = turn.person
    var hasNews = false
    for other in writers.indices where other != me {
      while writers[me].carried[other] < writers[other].published.count,
        writers[other].published[writers[me].carried[other]].transaction <= turn.known[other]
      {
        try carry(writers[other].published[writers[me].carried[other]], to: writers[me].folder)
        writers[me].carried[other] += 1
        hasNews = true
      }
    }
    if !hasNews { return }
    // This publishes, too.
    try await publish(me)
    try writers[me].store.commit()
  }

  private func carry(_ publication: Publication, to folder: String) throws {
    for file in publication.files {
      guard Files.write(folder + file.name, file.bytes) else { throw Missing() }
    }
    for name in publication.removed { Files.remove(folder + name) }
  }

  /// Another device's folder, with all that was published.
  func collect() throws -> String {
    let folder = directory + "/folder-all"
    try copyFolder(to: folder)
    for writer in writers {
      for publication in writer.published { try carry(publication, to: folder) }
      try writer.store.close()
    }
    return folder
  }
}

extension Bench {
  /// Another device takes in what people typed at the same time, every keystroke a commit.
  func messages(_ name: String, suffix: String) async throws {
    guard let trace = Trace(name) else { report.fail("no trace \(name)") }
    // Writing some ten thousand files is not what is measured.
    let place = (Files.memory ?? directory) + "/cairn-" + name
    Files.removeTree(place)
    defer { Files.removeTree(place) }
    let writers = try await Writers(trace, in: place)
    try await writers.run()
    let folder = try writers.collect()
    let store = try Store(directory + "/reader" + suffix, durable: false, folder: folder)
    report.figure("files\(suffix)", Double(Files.sizes(folder + "/*/*.seg").count))
    let start = Meter.now()
    let bytes = try await store.exchange()
    let fetched = Meter.now()
    try store.commit()
    let end = Meter.now()
    report.figure("messages\(suffix)_ms", (end - start) * 1e3)
    report.figure("fetch\(suffix)_ms", (fetched - start) * 1e3)
    report.figure("message\(suffix)_B", Double(bytes) / Double(trace.starts.count))
    check(try store.text("text").read(), trace)
    try store.close()
  }
}
