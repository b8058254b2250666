import Cairn
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Lives that ask to forget and retire each other at any moment, offline for as long as they like:
/// what any of them has acknowledged is there in the end, once.
@Suite struct FenceLifeTests {
  /// Many more seeds are for long runs.
  private static let more: UInt64 = unsafe getenv("CAIRN_LONG") == nil ? 0 : 300

  /// Devices that all have the records which all use.
  private func lives(
    _ seed: UInt64, _ names: [String]
  ) async throws -> (IdentityBench, [IdentityLife]) {
    let bench = IdentityBench(seed: seed)
    var lives: [IdentityLife] = []
    for (number, name) in names.enumerated() {
      lives.append(try IdentityLife(bench, name, seed: seed &* 10 + UInt64(number)))
      if number == 0 { try await lives[0].begin() } else { try await lives[number].device.pull() }
    }
    return (bench, lives)
  }

  /// The lives have met: everything is there, and all have the same.
  private func expectAll(
    _ bench: IdentityBench, _ lives: [IdentityLife], _ comment: Comment
  ) async throws {
    for life in lives { try life.commit() }
    let devices = lives.map(\.device)
    #expect(try await bench.settle(devices), "\(comment): \(bench.unrest)")
    try bench.expectEqual(devices, comment)
    let late = try bench.open("late")
    #expect(try await bench.settle(devices + [late]), comment)
    try bench.expectEqual(devices + [late], comment)
    try IdentityLife.expect(
      lives.map { ($0, IdentityLife.Deeds()) }, common: IdentityLife.Deeds(), in: late, comment)
  }

  @Test(arguments: 0..<24 + more)
  func `what is forgotten now and then is not missed`(seed: UInt64) async throws {
    let (bench, lives) = try await lives(seed, ["a", "b", "c"])
    let random = SeededRandom(seed + 77)
    for _ in 0..<60 {
      let life = lives[random.below(3)]
      switch random.below(8) {
      case 0: try life.device.askToForget()
      case 1:
        try life.commit()
        try await life.device.exchange()
        try life.commit()
      default: try await life.step()
      }
    }
    try await expectAll(bench, lives, "seed \(seed)")
  }

  @Test(arguments: 100..<124 + more)
  func `who was retired while it was away returns with everything`(seed: UInt64) async throws {
    let (bench, lives) = try await lives(seed, ["a", "b", "c"])
    let random = SeededRandom(seed + 77)
    let others = [lives[0], lives[1]]
    for _ in 0..<15 { try await lives[random.below(3)].step() }
    try lives[2].commit()
    try await lives[2].device.exchange()
    // Nobody is retired who was never heard of.
    try await others[0].device.exchange()
    for _ in 0..<10 { try await lives[2].step() }
    for life in lives { try life.commit() }
    try others[0].device.retireDevice(lives[2].device.device, givingUp: true)
    for _ in 0..<20 {
      if random.below(6) == 0 { try lives[0].device.askToForget() }
      try await others[random.below(2)].step()
    }
    for life in others { try life.commit() }
    #expect(try await bench.settle(others.map(\.device)), "seed \(seed)")
    for life in others { try life.device.compact() }
    for _ in 0..<6 { try await lives[random.below(3)].step() }
    try await expectAll(bench, lives, "seed \(seed)")
  }

  @Test(arguments: 200..<224 + more)
  func `copies of a device beside cuts keep what each has done`(seed: UInt64) async throws {
    let (bench, lives) = try await lives(seed, ["a", "c"])
    let (a, other) = (lives[0], lives[1])
    let random = SeededRandom(seed + 77)
    for _ in 0..<random.below(12) { try await a.step() }
    try a.commit()
    bench.clone("a", as: "b")
    let common = a.acknowledged
    if random.coin() { try other.device.askToForget() }
    for _ in 0..<8 {
      try await a.step()
      try await other.step()
      if random.below(3) == 0 { try other.device.askToForget() }
    }
    for life in lives { try life.commit() }
    if random.coin() { try await bench.settle(lives.map(\.device)) }
    let b = try IdentityLife(bench, "b", seed: seed + 100, like: a)
    b.restart(from: common)
    for _ in 0..<8 {
      try await b.step()
      if random.below(3) == 0 { try await a.step() }
    }
    for life in [a, b, other] { try life.commit() }
    let devices = [a, b, other].map(\.device)
    let comment: Comment = "seed \(seed)"
    #expect(try await bench.settle(devices), comment)
    try bench.expectEqual(devices, comment)
    try IdentityLife.expect(
      [(a, common), (b, common), (other, IdentityLife.Deeds())], common: common,
      in: other.device, comment)
  }

  @Test(arguments: 300..<312 + more)
  func `two that retire each other are together again in the end`(seed: UInt64) async throws {
    let (bench, lives) = try await lives(seed, ["a", "b", "c"])
    let random = SeededRandom(seed + 77)
    for _ in 0..<15 { try await lives[random.below(3)].step() }
    for life in lives { try life.commit() }
    try await bench.settle(lives.map(\.device))
    let names = lives.map(\.device.device)
    try lives[0].device.retireDevice(names[1], givingUp: true)
    try lives[1].device.retireDevice(names[0], givingUp: true)
    for _ in 0..<12 { try await lives[random.below(3)].step() }
    try await expectAll(bench, lives, "seed \(seed)")
  }
}
