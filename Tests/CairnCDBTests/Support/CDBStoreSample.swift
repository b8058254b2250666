import Cairn
import CairnCDB
import CairnDisk
import Synchronization
import TestSupport

extension CDBStore where Key == String, Value == String {
  /// A store of texts on a simulated disk.
  static func texts(
    _ disk: any Disk, _ path: String = "/s", options: CDBOptions = CDBOptions(),
    delay: CDBDelay = ManualDelay().delay, seed: UInt64 = 1
  ) throws -> CDBStore<String, String> {
    let store = CDBStore(
      path, keys: .text, values: .text, options: options,
      machine: CDBSample.machine(disk, seed: seed), delay: delay)
    try store.open()
    return store
  }
}

/// An object that can be changed.
final class Counter: Sendable {
  private let state: Lock<Int>
  init(_ value: Int) { state = Lock(value) }

  var value: Int {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  static var coding: CDBValueCoding<Counter> {
    CDBValueCoding(
      encode: { counter throws(CairnError) in
        if counter.value < 0 {
          throw CairnError(.illegalArgument, "a counter below zero")
        }
        return try CDBTaggedBytes(tag: 40, bytes: Array("\(counter.value)".utf8))
      },
      decode: { value throws(CairnError) in
        guard value.tag == 40, let number = Int(String(decoding: value.bytes, as: UTF8.self)) else {
          throw value.unknown(expected: "a counter")
        }
        return Counter(number)
      })
  }
}

/// Waits that end when a test says so.
final class ManualDelay: Sendable {
  struct Wait: Sendable {
    var duration: Duration
    var action: CDBDelay.Action
  }

  private struct State {
    var waits: [Int: Wait] = [:]
    var count = 0
  }

  private let state = Lock(State())

  var delay: CDBDelay {
    CDBDelay { duration, action in
      let number = self.state.withLock { state in
        state.count += 1
        state.waits[state.count] = Wait(duration: duration, action: action)
        return state.count
      }
      return { self.state.withLock { $0.waits[number] = nil } }
    }
  }

  /// How long those take that wait.
  var durations: [Duration] {
    state.withLock { $0.waits.sorted { $0.key < $1.key }.map(\.value.duration) }
  }

  /// All that wait have waited enough. Returns how many those were.
  @discardableResult
  func wind() -> Int {
    let due = state.withLock { state in
      defer { state.waits = [:] }
      return state.waits.sorted { $0.key < $1.key }.map(\.value)
    }
    for wait in due { wait.action() }
    return due.count
  }
}
