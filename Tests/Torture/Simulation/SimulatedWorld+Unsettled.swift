import Cairn
import CairnMerge
import CairnStore

/// What holds in a world that does not come to rest, too.
extension SimulatedWorld {
  /// Copies that nothing hinders have the same; all that have seen the same show the same; and
  /// every device is in order at home.
  func checkUnsettled() async throws {
    for index in histories.indices {
      let free = devices.map { $0.copies[index] }.filter { copy in
        !hindered.contains { $0 === copy }
      }
      for copy in free { try copy.check() }
      for (number, copy) in free.enumerated() {
        for other in free[..<number] { try check(copy, like: other) }
      }
    }
    try await refreshAll()
    try checkHomes()
  }

  private func check(_ copy: SimulatedCopy, like other: SimulatedCopy) throws {
    let isSame = copy.datastore?.core.vector == other.datastore?.core.vector
    // Of devices that have retired each other some hear nothing of the others, nor know of that.
    try copy.demand(isSame || profile.retires, "nothing hinders it, and it lacks something")
    if !isSame { return }
    let (shown, wanted) = (copy.memory.shown, other.memory.shown)
    try copy.demand(
      shown == wanted, "it has seen the same and differs: \(shown.differences(from: wanted))")
  }
}
