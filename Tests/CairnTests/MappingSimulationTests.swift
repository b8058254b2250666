import Cairn
import TestSupport
import Testing

/// Devices that do whatever comes to mind, with merges of their own, and then agree.
@Suite struct MappingSimulationTests {
  typealias Note = MappingBench.Note

  /// Words are only ever added: with this merge none gets lost, of whoever comes when.
  private static let mapping: ObjectMapping = .synced(Note.self) { merge in
    ObjectMergeTests.joinTexts(&merge)
    // What was edited on one side is wanted.
    if merge.remote == nil || merge.isPendingDelete { merge.isDeleted = false }
  }

  private final class Life {
    let bench: MappingBench
    let name: String
    let random: SeededRandom
    var device: MappingDevice
    private var count = 0
    private(set) var words: Set<String> = []
    private(set) var sum = 0

    init(_ bench: MappingBench, _ name: String, seed: UInt64) async throws {
      (self.bench, self.name) = (bench, name)
      random = SeededRandom(seed)
      device = try await bench.open(name, [mapping])
    }

    func step() async throws {
      count += 1
      let word = "\(name)\(count)"
      switch random.below(10) {
      case 0, 1, 2:
        try await device.update("n") { note in
          let words = Set(note.text.split(separator: " ").map(String.init) + [word])
          note.text = words.sorted().joined(separator: " ")
        }
        words.insert(word)
      case 3, 4:
        let amount = random.below(9) - 3
        try await device.update("n") { $0.stars += amount }
        sum += amount
      case 5:
        try await device.update("n") { $0.tags.append(word) }
      case 6:
        if try device.note("victim") == nil {
          try await device.insert(Note(text: word), "victim")
        } else if random.coin() {
          try await device.delete("victim")
        } else {
          try await device.update("victim") { $0.place = word }
        }
      case 7:
        if random.coin() { device.store.suspend() } else { device.store.resume() }
      case 8:
        try await device.close()
        if random.coin() {
          // A version of the app that knows nothing of notes.
          device = try await bench.open(name, [MappingBench.draft])
          _ = try await device.exchange()
          try await device.close()
        }
        device = try await bench.open(name, [mapping])
      default: _ = try await device.exchange()
      }
    }
  }

  @Test(arguments: UInt64(1)...12)
  func `objects of all devices become the same, and no word and no star is lost`(
    seed: UInt64
  ) async throws {
    let bench = MappingBench(seed: seed)
    var lives: [Life] = []
    for (index, name) in ["a", "b", "c"].enumerated() {
      lives.append(try await Life(bench, name, seed: seed &* 31 &+ UInt64(index)))
    }
    try await lives[0].device.insert(Note(text: "w"), "n")
    try await bench.settle(lives.map(\.device))
    let random = SeededRandom(seed)
    for _ in 0..<120 { try await lives[random.below(3)].step() }
    for life in lives { while life.device.store.resume() > 0 {} }
    let devices = lives.map(\.device)
    #expect(try await bench.settle(devices))
    let notes = try devices[0].notes()
    let note = try #require(notes["n"])
    let words = lives.reduce(into: Set(["w"])) { $0.formUnion($1.words) }
    #expect(Set(note.text.split(separator: " ").map(String.init)) == words)
    #expect(note.stars == lives.reduce(0) { $0 + $1.sum })
    for device in devices {
      #expect(try device.notes() == notes)
      #expect(try content(device.main) == content(devices[0].main))
      #expect(device.store.outbox == OutboxStatus())
      for (id, note) in notes {
        let record = try #require(try device.record(id))
        #expect(record["text"] == .string(note.text))
        #expect(record["stars"] == .int(Int64(note.stars)))
      }
    }
  }
}
