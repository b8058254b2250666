internal import CairnDisk
internal import CairnMerge
internal import CairnStore
internal import Synchronization

/// What the command line tells of devices that are left out, and of agreements.
extension Datastore {
  /// How far the devices are with what may be forgotten.
  package enum Agreement: Equatable, Sendable {
    /// Nobody has asked for more than is agreed on.
    case none
    /// All have agreed on all that somebody asked for.
    case agreed
    /// These devices have not said yet that they have seen it. If there are none, only the device
    /// that asked has to sync once more.
    case waiting([String])
  }

  package var agreement: Agreement {
    let cuts = store.cuts.cuts
    if store.hasOpenCuts { return .waiting(store.silentMembers.map(\.description).sorted()) }
    // What can never be agreed on is asked for anew by whoever asks next.
    return cuts.contains(where: \.isSealed) ? .agreed : .none
  }

  /// Whether the last sync has found that the others go on without something that is here. The next
  /// exchange and sync of the same opening make this one with what they have.
  package var isCutOff: Bool {
    exchanger?.memory.withLock { $0.cutOff != nil } ?? false
  }

  /// Whether what is missed is about to be believed lost: some more exchanges, and another device's
  /// snapshot takes its place.
  package var isAboutToJoin: Bool { exchanger?.isAboutToJoin ?? false }

  /// Whether the last sync could not take in something that was fetched. The next exchange says
  /// what is missing, if nothing in the folder brings it.
  package var isBlocked: Bool { exchanger?.condition.current.isBlocked ?? false }

  /// What `ExchangeReport.held` says, as of the last sync.
  package var heldFiles: [ExchangeReport.Waiting] {
    var report = ExchangeReport()
    exchanger?.noteCuts(&report)
    return report.held
  }

  /// Whether anything that a device has written is here.
  package func hasMerged(_ device: String) -> Bool {
    DeviceID(hex: device).map { store.vector[$0] > 0 } ?? false
  }
}
