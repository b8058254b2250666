import Cairn

/// Scripts of devices that retire each other and agree on what to forget, and of the trash.
extension Scenarios {
  static let members: [SharedScenario] = [
    SharedScenario(
      "retire another device",
      [
        .open("n"), .commit, .exchange, .peer, .exchange, .incorporate, .commit, .exchange,
        .retirePeer, .commit, .exchange, .incorporate, .exchange, .expectCuts(1, retired: 1),
        .compact, .exchange, .peerReturns, .exchange, .incorporate, .commit, .exchange, .peerMeets,
        .exchange, .incorporate, .compact, .reopen, .exchange, .expectCuts(1, retired: 1),
      ]),
    SharedScenario(
      "return after being retired",
      [
        .open("n"), .commit, .exchange, .peer, .exchange, .incorporate, .commit, .exchange,
        .peerMeets, .peerRetires, .commit, .exchange, .incorporate, .commit, .exchange,
        .incorporate, .exchange, .incorporate, .exchange, .incorporate, .expectRenamed,
        .commit, .exchange, .compact, .kill, .exchange, .commit, .exchange, .peerMeets, .exchange,
        .incorporate,
      ]),
    SharedScenario(
      "forget",
      [
        .open("n"), .commit, .commit, .exchange, .peer, .exchange, .incorporate,
        .peerDeletesRecords, .exchange, .incorporate, .commit, .forget, .exchange, .peerMeets,
        .exchange, .incorporate, .exchange, .peerMeets, .exchange, .incorporate,
        .expectCuts(1, retired: 0), .compact, .commit, .exchange, .kill, .forget, .exchange,
        .peerMeets, .exchange, .incorporate, .exchange, .compact, .exchange,
      ]),
  ]

  /// Longer than anything stays in the trash.
  static let month: Int64 = 31 * 86_400_000

  static let trash: [SharedScenario] = [
    SharedScenario(
      "trash of datastores",
      [
        .open("n"), .commit, .exchange, .refresh, .peer, .exchange, .incorporate, .close,
        .peerDeletes, .refreshDeleting("n"), .expectCopies(1), .restoreCopy, .open("n"), .commit,
        .exchange, .refresh, .close, .emptyCopies, .expectCopies(0), .open("n"), .commit,
        .exchange,
      ]),
    SharedScenario(
      "trash",
      [
        .open("n"), .commit, .commit, .commit, .exchange, .peer, .exchange, .incorporate,
        .peerDeletesRecords, .exchange, .incorporate, .expectTrash(3, files: 1), .commit,
        .restoreTrash, .expectTrash(0, files: 1), .exchange, .emptyTrash,
        .expectTrash(0, files: 0), .peerDeletesRecords, .exchange, .incorporate,
        .expectTrash(3, files: 1), .kill, .emptyTrash, .expectTrash(0, files: 0), .exchange,
      ]),
    SharedScenario(
      "trash that is too old",
      [
        .open("n"), .commit, .commit, .commit, .exchange, .peer, .exchange, .incorporate,
        .peerDeletesRecords, .exchange, .incorporate, .expectTrash(3, files: 1), .exchange,
        .advance(month), .expectTrash(0, files: 1), .commit, .exchange, .peerDeletesRecords,
        .exchange, .incorporate, .expectTrash(3, files: 1), .reopen, .exchange,
      ]),
  ]
}
