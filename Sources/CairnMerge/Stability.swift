/// Which deltas nothing can be concurrent to any more.
package enum Stability {
  /// A device's word on what it has seen, given right after its delta `sequence` (0: none yet).
  package struct Acknowledgement: Hashable, Sendable {
    package var seen: VersionVector
    package var sequence: UInt64

    package init(seen: VersionVector, sequence: UInt64) {
      self.seen = seen
      self.sequence = sequence
    }
  }

  /// The fence of a device that has seen `own`: what every member is known to have seen before any
  /// of its deltas that may still arrive here.
  ///
  /// A member says what it has seen by the context of its last delta applied here, and by
  /// acknowledgements. One of these counts only when all deltas that its author had made by then
  /// are here: an earlier delta still under way might not have seen what the acknowledgement says.
  /// A member without either holds the fence at nothing. The device itself need not be listed.
  package static func stable(
    own: VersionVector, contexts: [DeviceID: VersionVector],
    acknowledgements: [DeviceID: Acknowledgement], members: some Sequence<DeviceID>
  ) -> VersionVector {
    var fence = own
    for member in members {
      var known = contexts[member] ?? VersionVector()
      if let word = acknowledgements[member], own[member] >= word.sequence {
        known.merge(word.seen)
      }
      fence = fence.meet(known)
    }
    return fence
  }
}
