import CairnBytes
import CairnFuzzBytes
import CairnMerge
import CairnStore

/// `(length u16 · pack) …`: stores take them in one call, and one by one from the end; both show
/// the same, also when they are opened again.
enum PacksEntry {
  static func run(_ bytes: [UInt8]) throws {
    var packs: [[UInt8]] = []
    var reader = ByteReader(bytes)
    while packs.count < 8, let length = try? reader.u16() {
      guard let part = try? reader.skip(min(Int(length), reader.remaining)) else { break }
      packs.append(Array(bytes[part]))
    }
    guard packs.contains(where: { (try? PackReader($0)) != nil }) else { return }
    let all = StoreBench(seed: 3)
    let one = StoreBench(seed: 4)
    guard let a = try? all.open(), let b = try? one.open() else { return }
    guard (try? a.sync(packs: packs)) != nil else { return }
    for _ in packs {
      for pack in packs.reversed() { _ = try? b.sync(packs: [pack]) }
    }
    if let x = try? a.everything(), let y = try? b.everything(), a.vector == b.vector {
      let changed = Set(x).symmetricDifference(y).sorted().prefix(4)
      try FuzzFinding.check(x == y, "two orders of the same packs differ: \(changed)")
    }
    try? a.close()
    try? b.close()
    try all.live(compacts: bytes.count % 16 == 0)
  }
}
