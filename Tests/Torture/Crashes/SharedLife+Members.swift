import Cairn
import CairnLog
import CairnMerge
import CairnStore
import TestSupport

/// What is asked of devices that take part, and the trash.
extension SharedLife {
  /// This device's part.
  func act(_ step: SharedScenario.Step) async throws {
    let datastore = try opened()
    switch step {
    case .retirePeer:
      let name = try joined().device
      let number = UInt64(name, radix: 16) ?? 0
      // Done, if this is another try.
      if !datastore.core.retired.contains(where: { $0.rawValue == number }) {
        try datastore.retireDevice(name, givingUp: true)
      }
      try await commit()
    case .forget:
      // Asked already, if this is another try.
      if !datastore.core.cuts.hasOpen { try datastore.askToForget() }
      try await commit()
    case .restoreTrash:
      try datastore.trash.restoreAll()
      try await commit()
    case .emptyTrash:
      try datastore.trash.empty()
      recorder.begin(try content())
      recorder.acknowledge()
    default: break
    }
  }

  /// What was done has come to something.
  func expect(_ step: SharedScenario.Step) throws {
    let datastore = try opened()
    let store = datastore.core
    switch step {
    case .expectCuts(let count, let retired):
      let sealed = store.cuts.cuts.count(where: \.isSealed)
      guard sealed == count, !store.cuts.hasOpen, store.retired.count == retired else {
        throw TortureFailure(
          "\(sealed) agreements of \(store.cuts.cuts.count) have come about, "
            + "\(store.retired.count) devices are retired")
      }
    case .expectRenamed:
      guard let firstName, datastore.device != firstName else {
        throw TortureFailure("this device has the name that it had first")
      }
    case .expectTrash(let count, let files):
      let found = try datastore.trash.list().count
      let names = place.home.paths().filter { path in
        path.contains("/" + FileName.trash + "/")
          && FileName.deletedNumber(WriteOrder.last(path)) != nil
      }
      // After an error there may be one more, which says the same.
      guard found == count, names.count == files || place.home.strikeCount > 0 else {
        throw TortureFailure("\(found) records are in the trash, in \(names.count) files")
      }
    default: break
    }
  }

  /// The other device's part.
  func peerActs(_ step: SharedScenario.Step) async throws {
    let peer = try joined()
    switch step {
    case .peerDeletesRecords:
      try await peerMeets(peer, rounds: 1)
      let table = try peer.table("t")
      let ids = try table.query().map(\.id.description).sorted()
      for id in ids.prefix(3) { try table[RecordID(id)].delete() }
      try peer.sync()
      try await peer.exchange()
    case .peerRetires:
      guard let name else { throw TortureFailure("nobody is there to be retired") }
      let number = UInt64(name, radix: 16) ?? 0
      if !peer.core.retired.contains(where: { $0.rawValue == number }) {
        try peer.retireDevice(name, givingUp: true)
      }
      try await peerMeets(peer, rounds: 2)
    case .peerReturns:
      let before = peer.device
      try insertOnce(try peer.table("t"), "of-the-retired", ["a": 1])
      try peer.sync()
      try await peerMeets(peer, rounds: 4)
      guard peer.device != before else {
        throw TortureFailure("the retired device goes on under its name")
      }
      recorder.notePeer(UInt64(peer.device, radix: 16) ?? 0)
    default: try await peerMeets(peer, rounds: 3)
    }
  }

  private func peerMeets(_ peer: Datastore, rounds: Int) async throws {
    for _ in 0..<rounds {
      try await peer.exchange()
      try peer.sync()
      try await peer.exchange()
    }
  }

  /// A device that was retired has another name after a sync; what it has published under the old
  /// one stays.
  func noteName(_ datastore: Datastore, before: String) {
    guard datastore.device != before else { return }
    recorder.notePeer(UInt64(before, radix: 16) ?? 0)
    name = datastore.device
  }

  /// What is too old is in the trash no more.
  func advance(by milliseconds: Int64) throws {
    place.clock.advance(by: milliseconds)
    guard scenario.hasTrash else { return }
    recorder.begin(try content())
    recorder.acknowledge()
  }
}
