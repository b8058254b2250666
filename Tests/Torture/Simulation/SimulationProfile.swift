import TestSupport

/// What kind of world a seed makes: fixed before anything happens, and printed in replay files.
struct SimulationProfile: Hashable, Sendable {
  var seed: UInt64
  var devices = 3
  var datastores = 1
  /// All devices see one folder at once, as with a server; otherwise each has its own view of it,
  /// which a sync engine brings up to date.
  var isShared = false
  var records = 20
  /// Of 100 changes how many go to the same three records.
  var heat = 20
  var segmentBytes = 4096
  var cacheBytes = 1 << 20
  /// 0: a commit is durable at once; 1: at times; 2: when the system likes.
  var durability = 0
  var compactsItself = false
  var compactFrom = 4096
  var packBytes = 4096
  var smallFileBytes = 4096
  var graceSeconds = 0
  /// Limits are so low that they are met.
  var isTight = false
  var hasIndexes = false
  /// Each commit has a record of its own that nobody ever touches again: it must never be lost,
  /// whatever name its delta has in the end.
  var hasMarks = false
  /// People retire devices and ask to forget. A device may have another name after that, so this is
  /// only where there are marks.
  var retires = false
  /// Milliseconds between two steps, on average.
  var pace = 200_000
  /// So many records may others delete at once.
  var massDelete = 50
  /// Snapshots of more records have their index made with the help of a file.
  var indexRecords = 1_000_000

  static let keys: [(String, any WritableKeyPath<SimulationProfile, Int> & Sendable)] = [
    ("devices", \.devices), ("datastores", \.datastores), ("records", \.records),
    ("heat", \.heat), ("segment", \.segmentBytes), ("cache", \.cacheBytes),
    ("durability", \.durability), ("compact-from", \.compactFrom), ("pack", \.packBytes),
    ("small", \.smallFileBytes), ("grace", \.graceSeconds), ("pace", \.pace),
    ("mass-delete", \.massDelete), ("index", \.indexRecords),
  ]
  static let flags: [(String, any WritableKeyPath<SimulationProfile, Bool> & Sendable)] = [
    ("shared", \.isShared), ("compacts", \.compactsItself), ("tight", \.isTight),
    ("indexes", \.hasIndexes), ("marks", \.hasMarks),
    ("retires", \.retires),
  ]

  init(seed: UInt64) { self.seed = seed }

  /// What a seed makes of everything. Whether devices are retired can be said instead.
  init(choosing seed: UInt64, retirements: Bool? = nil) {
    self.seed = seed
    let random = SeededRandom(seed &* 0x9E37_79B9 &+ 17)
    func pick<T>(_ choices: [T]) -> T { choices[random.below(choices.count)] }
    devices = pick([2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8])
    datastores = random.below(5) == 0 ? 2 : 1
    isShared = random.below(3) == 0
    records = pick([6, 12, 25, 60])
    heat = pick([0, 10, 30])
    segmentBytes = pick([600, 4096, 4096, 65_536])
    cacheBytes = pick([0, 4096, 1 << 20])
    durability = pick([0, 0, 0, 1, 2])
    compactsItself = random.coin()
    compactFrom = pick([1000, 4000, 20_000])
    packBytes = pick([300, 4096, 1 << 20])
    smallFileBytes = pick([500, 3000, 20_000])
    graceSeconds = pick([0, 0, 3600, 86_400])
    isTight = random.below(6) == 0
    hasIndexes = random.below(4) == 0
    hasMarks = !isTight && random.below(3) == 0
    pace = 1_200_000 / devices
    massDelete = pick([2, 5, 50, 50])
    retires = hasMarks && random.below(3) == 0
    indexRecords = pick([1_000_000, 1_000_000, 3])
    if let retirements { retires = retirements }
    if retires { (isTight, hasMarks) = (false, true) }
  }

  // MARK: text

  var line: String {
    "profile seed=\(seed)"
      + Self.keys.map { " \($0.0)=\(self[keyPath: $0.1])" }.joined()
      + Self.flags.map { " \($0.0)=\(self[keyPath: $0.1] ? 1 : 0)" }.joined()
  }

  init?(_ line: some StringProtocol) {
    let words = line.split(separator: " ")
    guard words.first == "profile" else { return nil }
    self.init(seed: 0)
    for word in words.dropFirst() {
      let parts = word.split(separator: "=")
      guard parts.count == 2 else { return nil }
      let name = String(parts[0])
      if name == "seed", let seed = UInt64(parts[1]) {
        self.seed = seed
      } else if let key = Self.keys.first(where: { $0.0 == name }), let value = Int(parts[1]) {
        self[keyPath: key.1] = value
      } else if let key = Self.flags.first(where: { $0.0 == name }) {
        self[keyPath: key.1] = parts[1] == "1"
      } else {
        return nil
      }
    }
  }
}
