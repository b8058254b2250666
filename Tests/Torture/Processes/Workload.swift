import Cairn
import CairnDisk

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A short life of a store, the same each time, which is interrupted at each of its system calls.
struct Workload: Sendable {
  let name: String
  let content: Content
  let commits: Int
  private let flags: [String]
  private let isLinked: Bool
  /// What is there before the writer begins: files by path below the root of it all.
  private let template: [(path: String, bytes: [UInt8])]

  /// Appends, rotates, seals, writes snapshots, removes what they replace, and datastores.
  static func local() -> Workload {
    Workload(
      name: "local", content: Content(writer: "a", seed: 11, payload: 9000), commits: 32,
      flags: ["--compact-every", "9", "--discard-every", "11"], isLinked: false, template: [])
  }

  /// Opens what a kill left, and goes on.
  static func recovery(_ scratch: String) throws -> Workload {
    let content = Content(writer: "a", seed: 12, payload: 4000)
    let root = scratch + "/recovery"
    let place = StorePlace(root: root + "/device")
    let child = try Child(
      Child.own, ["write"] + PlaceOptions.arguments(place, content), output: scratch + "/said")
    try child.wait(until: "40 commits") { Words(child.text).acked >= 40 }
    let ending = try child.kill()
    guard ending == .signalled(SIGKILL) else {
      throw TortureFailure("the writer ended by itself: \(ending): \(child.errors)")
    }
    let acked = Words(child.text).acked
    // A torn tail, as a power cut leaves one.
    let log = TextFile.files(below: place.directory + "/log")
    guard let last = log.last, acked >= 40 else {
      throw TortureFailure("the writer made no log: \(child.errors)")
    }
    var bytes = TextFile.bytes(last)
    let end = (bytes.lastIndex { $0 != 0 } ?? 0) / 8 * 8 + 16
    if end + 600 < bytes.count { for place in end..<(end + 600) { bytes[place] = 0xA5 } }
    try TextFile.write(last, bytes)
    let template = read(root)
    // One more may be there than was acknowledged.
    let datastore = try place.open()
    let commits = try content.check(datastore)
    try datastore.close()
    guard commits >= acked else {
      throw TortureFailure("\(acked) were acknowledged before the kill, \(commits) are there")
    }
    try TextFile.removeTree(root)
    return Workload(
      name: "recovery", content: content, commits: commits + 20,
      flags: ["--compact-every", "7"], isLinked: false, template: template)
  }

  /// Publishes, and takes in what another device published.
  static func account(_ scratch: String) async throws -> Workload {
    let root = scratch + "/account"
    let other = try OtherDevice(root: root, seed: 14)
    let content = Content(writer: "a", seed: 13, payload: 9000)
    var ledger = Ledger("")
    for _ in 0..<6 { try await other.look(content, atMost: 0, &ledger) }
    try other.close()
    let template = read(root).filter { $0.path.hasPrefix("/folder/") }
    try TextFile.removeTree(root)
    return Workload(
      name: "account", content: content, commits: 16,
      flags: ["--exchange-every", "2", "--compact-every", "6"], isLinked: true, template: template)
  }

  private static func read(_ root: String) -> [(path: String, bytes: [UInt8])] {
    TextFile.files(below: root).map { path in
      (String(path.dropFirst(root.count)), TextFile.bytes(path))
    }
  }

  /// Commits that are there before.
  var before: Int { name == "recovery" ? commits - 20 : 0 }

  func place(_ scratch: String) -> StorePlace {
    var place = StorePlace(root: scratch + "/\(name)/device")
    if isLinked { place.folder = scratch + "/\(name)/folder" }
    return place
  }

  /// Puts a fresh copy into `scratch`.
  func prepare(_ scratch: String) throws -> StorePlace {
    try remove(scratch)
    for file in template {
      let path = scratch + "/" + name + file.path
      try TextFile.makeDirectory(path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 })
      try TextFile.write(path, file.bytes)
    }
    return place(scratch)
  }

  func remove(_ scratch: String) throws { try TextFile.removeTree(scratch + "/" + name) }

  func arguments(_ place: StorePlace) -> [String] {
    ["write"] + PlaceOptions.arguments(place, content) + flags + ["--commits", "\(commits)"]
  }

  /// What must hold after any interruption: nothing acknowledged is lost, nothing is damaged, the
  /// folder does not know more than the device, a writer can go on, and nothing is left behind.
  func check(_ words: Words, _ scratch: String) async throws {
    let place = place(scratch)
    let acked = max(words.acked, before)
    let checker = Checker(place: place, contents: [content])
    var finding = Finding()
    let standing = try checker.check(acked: acked, &finding)[0]
    if isLinked { try await checkFolder(standing, scratch) }
    var writer = Writer(place: place, content: content)
    writer.isQuiet = true
    writer.exchangeEvery = isLinked ? 1 : 0
    writer.discardEvery = isLinked ? 0 : 1
    try await writer.run(commits: standing + 1)
    try checker.checkFiles()
    // What was to be deleted is gone, with what an interruption left of it.
    let rest = TextFile.files(below: place.root).filter { file in
      !file.hasPrefix(place.directory + "/") && file.hasSuffix(".seg")
    }
    guard rest.isEmpty else { throw TortureFailure("left of another datastore: \(rest)") }
    if isLinked { try await checkFolder(standing + 1, scratch, exactly: true) }
  }

  /// A device that is new sees what was published, and no more than there is.
  private func checkFolder(
    _ standing: Int, _ scratch: String, exactly: Bool = false
  ) async throws {
    var place = place(scratch)
    place.root = scratch + "/\(name)/reader"
    place.user = "c"
    let datastore = try place.open()
    try await datastore.exchange()
    try datastore.sync()
    let found = try content.check(datastore)
    try datastore.close()
    guard exactly ? found == standing : found <= standing else {
      throw TortureFailure("the folder has \(found) commits, their device \(standing)")
    }
  }
}
