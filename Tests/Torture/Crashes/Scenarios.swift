import Cairn
import CairnStore

/// The scripts.
enum Scenarios {
  static let store: [StoreScenario] = [
    StoreScenario("commit", [.commit, .commit, .rules, .commit, .rollBack, .commit, .commit]),
    StoreScenario("rotate", [.commit, .commit, .commit, .commit, .commit, .commit, .commit]) {
      $0.segmentBytes = 700
    },
    StoreScenario(
      "snapshot", isLinked: false,
      [.commit, .commit, .compact, .commit, .lists, .compact, .commit, .reopen, .compact]
    ) {
      $0.segmentBytes = 900
      // Hashes go to a file.
      $0.indexRecords = 1
    },
    StoreScenario(
      "compaction",
      [
        .commit, .deliver([0]), .compact, .commit, .confirm, .commit, .compact, .commit, .confirm,
        .compact, .reopen, .commit,
      ]
    ) { $0.segmentBytes = 700 },
    StoreScenario(
      "compaction meanwhile",
      [.commit, .commit, .compactDuring(2), .commit, .confirm, .compactDuring(1), .commit]
    ) { $0.segmentBytes = 700 },
    StoreScenario(
      "incorporate",
      [.commit, .deliver([1, 0]), .commit, .deliver([2]), .deliver([3, 0]), .compact, .commit]),
    StoreScenario("adopt", [.adopt, .commit, .deliver([0, 1, 2, 3]), .compact, .commit]),
    StoreScenario("import", [.load(40, 100), .load(110, 700), .commit, .load(40, 1500), .compact]) {
      $0.segmentBytes = 128 << 10
    },
    StoreScenario("lists", [.lists, .lists, .commit, .lists, .compact, .lists, .reopen, .lists]),
    StoreScenario(
      "reopen", [.commit, .reopen, .commit, .kill, .commit, .commit, .kill, .reopen, .kill, .commit]
    ) { $0.segmentBytes = 900 },
    StoreScenario(
      "lazy", [.commit, .commit, .commit, .flush, .commit, .commit, .lists, .reopen, .commit]
    ) {
      $0.durability = .none
      $0.segmentBytes = 1200
    },
    StoreScenario(
      "periodic", [.commit, .commit, .commit, .deliver([0]), .commit, .kill, .commit, .compact]
    ) {
      $0.durability = .periodic(milliseconds: 1 << 40)
      $0.segmentBytes = 1200
    },
  ]

  private static let storeAlphabet: [StoreScenario.Step] = [
    .commit, .lists, .deliver([0]), .deliver([1, 0]), .compact, .compactDuring(1), .confirm,
    .reopen, .kill, .load(3, 300),
  ]

  private static let sharedAlphabet: [SharedScenario.Step] = [
    .commit, .exchange, .peer, .incorporate, .compact, .reopen, .kill, .refresh, .delete("n"),
  ]

  /// Every sequence of that many steps, after a first commit.
  static func storeSequences(of length: Int) -> [StoreScenario] {
    sequences(storeAlphabet, length).map { steps in
      StoreScenario("sequence \(steps)", [.commit] + steps + [.commit]) { $0.segmentBytes = 500 }
    }
  }

  /// The same of a datastore that is exchanged.
  static func sharedSequences(of length: Int) -> [SharedScenario] {
    sequences(sharedAlphabet, length).map { steps in
      // What was deleted has to be opened again.
      let opened: [SharedScenario.Step] = steps.flatMap { step in
        if case .delete = step { [step, .open("n")] } else { [step] }
      }
      let ends: [SharedScenario.Step] = [.commit, .exchange]
      return SharedScenario("sequence \(steps)", [.open("n"), .commit] + opened + ends)
    }
  }

  private static func sequences<Step>(_ alphabet: [Step], _ length: Int) -> [[Step]] {
    if length == 0 { return [[]] }
    return sequences(alphabet, length - 1).flatMap { start in alphabet.map { start + [$0] } }
  }

  static let shared: [SharedScenario] = [
    SharedScenario(
      "publish",
      [
        .open("n"), .commit, .exchange, .commit, .lists, .exchange, .reopen, .title, .exchange,
        .kill, .commit, .exchange,
      ]),
    SharedScenario(
      "publish lazily",
      [.open("n"), .commit, .commit, .exchange, .commit, .kill, .exchange, .commit, .exchange]
    ) { $0.durability = .none },
    SharedScenario(
      "fetch",
      [
        .open("n"), .commit, .exchange, .peer, .exchange, .incorporate, .commit, .peer, .peer,
        .exchange, .commit, .exchange, .compact, .reopen, .exchange,
      ]),
    SharedScenario(
      "merge small segments",
      [
        .open("n"), .commit, .exchange, .commit, .exchange, .commit, .exchange, .commit, .exchange,
        .commit, .exchange, .commit, .exchange, .commit, .exchange, .commit, .exchange, .advance(1),
        .exchange, .commit, .exchange,
      ]),
    SharedScenario(
      "snapshots",
      [
        .open("n"), .peerLoad(300, 1000), .exchange, .incorporate, .commit, .exchange,
        .load(150, 1000), .exchange, .compact, .exchange, .load(320, 1000), .compact, .exchange,
        .exchange,
      ]
    ) { $0.tuning.indexRecords = 200 },
    SharedScenario(
      "delete",
      [
        .open("m"), .commit, .exchange, .open("n"), .commit, .exchange, .refresh, .delete("m"),
        .refresh, .refresh, .open("m"), .commit, .exchange, .refresh, .uncache("m"), .refresh,
      ]),
    SharedScenario(
      "deleted by another device",
      [
        .open("n"), .commit, .exchange, .refresh, .peer, .exchange, .incorporate, .close,
        .peerDeletes, .refreshDeleting("n"), .open("n"), .commit, .exchange, .refresh,
      ]),
    SharedScenario(
      "delete locally",
      [
        .openLocal("x"), .commit, .openLocal("y"), .lists, .deleteLocal("x"), .openLocal("x"),
        .commit, .deleteLocal("y"),
      ]),
    SharedScenario(
      "migrate",
      [
        .openLocal("n"), .commit, .lists, .openLocal("k"), .title, .commit, .migrate, .open("n"),
        .commit, .exchange, .refresh, .close,
      ]),
    SharedScenario(
      "migrate into a copy",
      [
        .peer, .open("n"), .exchange, .commit, .exchange, .openLocal("n"), .commit, .commit,
        .migrate, .open("n"), .exchange, .incorporate, .close,
      ]),
  ] + members + trash
}
