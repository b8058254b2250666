import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A device and its clone, each in a view of the folder of its own, and a reader in each.
final class ForkScene {
  let bench: IdentityBench
  var a: Datastore
  var b: Datastore
  var readers: [Datastore] = []
  var all: [Datastore] { [a, b] + readers }

  init(_ seed: UInt64 = 1, smallFileBytes: UInt64 = Tuning().smallFileBytes) async throws {
    bench = IdentityBench(seed: seed)
    bench.options.tuning.smallFileBytes = smallFileBytes
    var readers: [Datastore] = []
    let a = try bench.open("a")
    try a.table("t").setRule(.sum, field: "n")
    try a.table("t").insert(["n": 100, "l": .list(["x"])], id: "r")
    try a.add("common")
    try await a.exchange()
    for name in ["c", "d"] {
      let reader = try bench.open(name)
      try await reader.pull()
      try await reader.exchange()
      readers.append(reader)
    }
    try await a.pull()
    try await a.exchange()
    for device in [a] + readers { try device.close() }
    bench.clone("a", as: "b")
    for view in ["one", "two"] {
      for path in bench.folder.paths() {
        try bench.disk("folder " + view).setBytes(path, bench.folder.bytes(path) ?? [])
      }
    }
    for (name, view) in [("a", "one"), ("c", "one"), ("b", "two"), ("d", "two")] {
      bench.view(view, of: name)
    }
    self.a = try bench.open("a")
    b = try bench.open("b")
    self.readers = [try bench.open("c"), try bench.open("d")]
  }

  /// The engine brings the views together; everybody sees the same from now on.
  func merge(winner: String) throws {
    try bench.merge(["one", "two"], winner: winner)
    for device in all { try device.close() }
    a = try bench.open("a")
    b = try bench.open("b")
    readers = [try bench.open("c"), try bench.open("d")]
  }

  /// So many more deltas, published at once.
  func lengthen(_ device: Datastore, by count: Int) async throws {
    for number in 0..<count { try device.add("more\(number)") }
    if count > 0 { try await device.exchange() }
  }

  /// A sum, a list and a record in each delta, and each is published by itself.
  func work(_ device: Datastore, _ name: String, count: Int) async throws {
    for index in 0..<count {
      let record = try #require(try device.table("t").record("r"))
      try record.set("n", .int((try record.int("n") ?? 0) + 10))
      try record.list("l").append(.string("\(name)\(index)"))
      try device.add("\(name)\(index)")
      try await device.exchange()
    }
  }
}
