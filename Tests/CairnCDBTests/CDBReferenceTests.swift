import Cairn
import CairnCDB
import CairnDisk
import TestSupport
import Testing

/// A store beside a dictionary: whatever is done, both say the same.
@Suite struct CDBReferenceTests {
  /// Keys in the order of a walk, and their values.
  private struct Reference {
    var order: [String] = []
    var values: [String: String] = [:]

    mutating func set(_ value: String?, for key: String) {
      if values[key] == nil, value != nil { order.append(key) }
      if value == nil { order.removeAll { $0 == key } }
      values[key] = value
    }
  }

  @Test(arguments: [UInt64](1...12))
  func `random operations`(_ seed: UInt64) throws {
    let random = SeededRandom(seed)
    let disk = MemoryDisk()
    var options = CDBOptions()
    options.cacheBytes = seed % 3 == 0 ? 0 : 1 << 20
    options.format = [nil, .cdb64, .cdb64Hash32][Int(seed % 3)]
    var store = try CDBStore.texts(disk, options: options, seed: seed)
    var (now, saved) = (Reference(), Reference())
    for step in 0..<400 {
      let key = "k\(random.below(20))"
      let note: Comment = "seed \(seed), step \(step)"
      switch random.below(24) {
      case 0..<9:
        // Often a value that is there already.
        let value = "v\(random.below(3))" + String(repeating: "x", count: random.below(40))
        try store.set(value, for: key)
        now.set(value, for: key)
      case 9..<13:
        try store.remove(key)
        now.set(nil, for: key)
      case 13..<18: #expect(try store[key] == now.values[key], note)
      case 18:
        let isChanged = store.hasChanges
        #expect(try store.save() == isChanged, note)
        saved = now
      case 19: store.emptyCache()
      case 20:
        #expect(try store.dictionary() == now.values, note)
        #expect(try store.count == now.values.count, note)
      case 21:
        let isDiscarding = random.coin()
        try store.close(discardingChanges: isDiscarding)
        if isDiscarding { now = saved } else { saved = now }
        if random.coin() {
          try store.open()
        } else {
          store = try CDBStore.texts(disk, options: options, seed: seed + UInt64(step))
        }
      case 22: try store.reload()
      default: #expect(try store.contains(key) == (now.values[key] != nil), note)
      }
      let changed = Set(now.values.keys).union(saved.values.keys)
        .filter { now.values[$0] != saved.values[$0] }
      #expect(Set(store.changedKeys) == changed, note)
      #expect(store.hasChanges == !changed.isEmpty, note)
    }
    try store.save()
    // Keys that were removed and added again in between have a place of their own choice.
    #expect(try store.allKeys().sorted() == now.order.sorted())
    #expect(try CDBStore.texts(disk).dictionary() == now.values)
  }
}
