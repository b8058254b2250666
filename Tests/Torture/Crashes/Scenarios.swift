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
    ) { $0.segmentBytes = 900 },
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
    StoreScenario("import", [.load(40, 100), .load(200, 700), .commit, .load(60, 1500), .compact]) {
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
      ]),
    SharedScenario(
      "delete",
      [
        .open("m"), .commit, .exchange, .open("n"), .commit, .exchange, .refresh, .delete("m"),
        .refresh, .refresh, .open("m"), .commit, .exchange, .refresh, .uncache("m"), .refresh,
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
  ]
}
