import TestSupport
import Testing

@testable import Cairn

/// A file of the folder at which each connection breaks: it keeps nothing else from coming, and
/// nothing own from going out.
@Suite struct BrokenFileTests {
  private let bench: FolderWorkbench
  private let hook = HookedFolder.Switch()

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// The requests for it, from now on; each of them fails.
  private func breakOff(_ name: String, _ code: CairnError.Code) -> Told<String> {
    let asked = Told<String>()
    hook.set { request, path throws(CairnError) in
      guard request == .read, path.hasSuffix("/" + name) else { return }
      asked.add(path)
      throw CairnError(code, "the connection broke", file: path)
    }
    return asked
  }

  @Test(arguments: ["segment", "head", "foreign"], [CairnError.Code.network, .timeout])
  func `a connection that breaks at one file ends no round`(
    _ kind: String, _ code: CairnError.Code
  ) async throws {
    let (a, c) = (try await bench.publisher("a"), try await bench.publisher("c"))
    let name: String
    switch kind {
    case "segment": name = try bench.segment(a)
    case "head": name = bench.head(a)
    default:
      name = "film"
      try bench.write(bench.shared + "/film", sample(1, 1000))
    }
    let b = try bench.open("b", hook)
    try b.add("b")
    let asked = breakOff(name, code)
    let report = try await b.pull()
    #expect(report.problems.map(\.name) == [name])
    #expect(report.problems.map(\.reason) == ["the connection broke"])
    #expect(report.publishedDeltas == 1 && b.status.downloadError == nil)
    #expect(try b.ids() == (kind == "foreign" ? ["a", "b", "c"] : ["b", "c"]))
    try await c.pull()
    #expect(try c.ids().contains("b"))
    // It is said as long as it stays so, and asked for in every fourth round in the end.
    for _ in 2...16 { #expect(try await b.pull().problems.map(\.name) == [name]) }
    #expect(asked.all.count == 6)
    hook.set(nil)
    for _ in 0..<4 { try await b.pull() }
    #expect(try await b.pull().problems == [])
    #expect(try b.ids() == ["a", "b", "c"])
  }

  /// It may have published more than anybody here has heard of.
  @Test(
    arguments: [CairnError.Code.network, .auth, .server, .fileIO, .readOnly], [false, true])
  func `a device whose head can't be read just now is left out only if its changes are given up`(
    _ code: CairnError.Code, _ givesUp: Bool
  ) async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b", hook)
    try await b.pull()
    try a.add("more")
    try await a.exchange()
    _ = breakOff(bench.head(a), code)
    #expect(try await b.pull().problems.map(\.name) == [bench.head(a)])
    #expect(try b.ids() == ["a"])
    if givesUp { return try b.retireDevice(a.device, givingUp: true) }
    let refusal = failure { try b.retireDevice(a.device) }
    #expect(refusal?.code == .retryLater && refusal?.file == bench.head(a))
    #expect(refusal?.message.hasSuffix("can't be told just now: the connection broke") == true)
    hook.set(nil)
    try await b.pull()
    #expect(try b.ids() == ["a", "more"])
    try b.retireDevice(a.device)
  }

  /// What has come of it, or is there instead, says as little as one that is not given.
  @Test(arguments: ["placeholder", "empty", "half", "wrong checksum"], [false, true])
  func `a device whose head is not whole here is left out only if its changes are given up`(
    _ kind: String, _ givesUp: Bool
  ) async throws {
    let a = try await bench.publisher("a")
    let script = ScriptedFolder.Script()
    let b = try bench.open("b", script)
    try await b.pull()
    try a.add("more")
    try await a.exchange()
    let path = bench.shared + "/" + bench.head(a)
    let bytes = try bench.read(path)
    var reason = "its content is not here yet"
    switch kind {
    case "placeholder": script.showPlaceholders(for: bench.head(a))
    case "empty": try bench.write(path, [])
    case "half":
      try bench.write(path, [UInt8](bytes.prefix(40)))
      reason = "shorter than a head can be"
    default:
      try bench.write(path, bytes.flipped(at: bytes.count - 1))
      reason = "the checksum does not match"
    }
    // A damaged one is not read in each round, and no better known in those between.
    for _ in 0..<3 {
      #expect(try await b.pull().complaints == [bench.head(a)])
      let refusal = failure { try b.retireDevice(a.device) }
      #expect(refusal?.code == .retryLater && refusal?.file == bench.head(a))
      #expect(refusal?.message.contains(reason) == true)
    }
    #expect(try b.ids() == ["a"])
    if givesUp { return try b.retireDevice(a.device, givingUp: true) }
    script.list(nil)
    try bench.write(path, bytes)
    try await b.pull()
    #expect(try b.ids() == ["a", "more"])
    try b.retireDevice(a.device)
  }

  @Test(arguments: ["gone", "as it was"], [CairnError.Code.auth, .fileIO])
  func `a head that could not be read once keeps no device in when it is`(
    _ what: String, _ code: CairnError.Code
  ) async throws {
    let a = try await bench.publisher("a")
    let b = try bench.open("b", hook)
    try await b.pull()
    let (path, before) = (bench.shared + "/" + bench.head(a), bench.place.path + "/before")
    let bytes = try bench.read(path)
    try bench.move(path, to: before)
    try bench.write(path, bytes)
    let asked = breakOff(bench.head(a), code)
    #expect(try await b.pull().problems.map(\.name) == [bench.head(a)])
    #expect(failure { try b.retireDevice(a.device) }?.code == .retryLater)
    if what == "gone" { try bench.remove(path) } else { try bench.move(before, to: path) }
    #expect(try await b.pull().problems == [])
    #expect(asked.all.count == 1)
    try b.retireDevice(a.device)
  }

  @Test func `a line that is down costs one request more and ends the round`() async throws {
    _ = try await bench.publisher("a")
    _ = try await bench.publisher("c")
    let b = try bench.open("b", hook)
    try b.add("b")
    let (isDown, failed) = (Flag(), Told<String>())
    hook.set { request, path throws(CairnError) in
      if request == .read, path.hasSuffix(".seg") { isDown.raise() }
      guard isDown.isUp else { return }
      failed.add("\(request)")
      throw CairnError(.noConnection, "there is no line", file: path)
    }
    #expect(await b.exchangeError()?.code == .noConnection)
    #expect(failed.all == ["read", "list"])
    #expect(b.status.downloadError?.code == .noConnection && b.publishedDeltas == 0)
    hook.set(nil)
    #expect(try await b.pull().publishedDeltas == 1)
    #expect(try b.ids() == ["a", "b", "c"])
  }
}
