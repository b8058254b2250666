import Cairn
import CairnDisk
import CairnStore
import TestSupport

/// The calls of the device's disk that one recovery made, each of which can fail in another one of
/// the same: that gives a typed error or shows what it would have shown, and the next try shows it.
struct RecoveryCalls {
  /// Those that change something or make it durable.
  let stepCount: Int
  private let reads: Int

  /// Of a recovery that has just been the first to use this disk.
  init(_ disk: MemoryDisk) {
    stepCount = disk.operations
    reads = disk.reads
  }

  var count: Int { stepCount + reads }

  func isRead(_ number: Int) -> Bool { number >= stepCount }

  /// Recovers what a power cut has left while the call of that number fails, from 0 on: first the
  /// steps, then the reads.
  func fail(
    _ number: Int, _ fault: FaultSearch.Fault, isForever: Bool, _ scenario: some Scenario,
    _ left: Place, _ wanted: Look, _ ledger: inout Ledger
  ) throws {
    var place = left
    place.process = ProcessDisk(place.home)
    if isRead(number) {
      place.home.failAt(read: number - stepCount + 1, reason: fault.reason, forever: isForever)
    } else {
      place.home.failAt(operation: number + 1, reason: fault.reason, forever: isForever)
    }
    do {
      let look = try scenario.look(place)
      ledger.count("recoveries that went on all the same")
      guard look.content == wanted.content else {
        throw TortureFailure("with \(fault.name) at call \(number) it shows something else")
      }
    } catch {
      guard error is StoreError || error is CairnError else { throw error }
      ledger.count("recoveries that failed")
    }
    guard place.home.strikeCount > 0 else {
      throw TortureFailure("call \(number) of the recovery, which was to fail, never came")
    }
    ledger.took("in a recovery: " + fault.name)
    place.home.heal()
    place.process?.kill()
    place.process = ProcessDisk(place.home)
    guard try scenario.look(place).content == wanted.content else {
      throw TortureFailure("after \(fault.name) at call \(number) it shows something else")
    }
  }
}
