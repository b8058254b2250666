import CairnMerge
import TestSupport
import Testing

/// The small maps that a commit is made of, beside dictionaries.
struct SparseMapTests {
  @Test func `a sparse map holds what a dictionary does, sorted`() {
    for seed in 0..<50 as Range<UInt64> {
      let random = SeededRandom(seed)
      var map = SparseMap<Int>()
      var model: [Int: Int] = [:]
      for step in 0..<200 {
        let number = random.below(20)
        switch random.below(6) {
        case 0: #expect(map.removeValue(number) == model.removeValue(forKey: number))
        case 1: (map[number], model[number]) = (nil, nil)
        case 2 where step % 50 == 2:
          map.removeAll()
          model = [:]
        default: (map[number], model[number]) = (step, step)
        }
        #expect(map.count == model.count && map.isEmpty == model.isEmpty)
        #expect((0..<20).allSatisfy { map[$0] == model[$0] })
      }
      #expect(map.pairs.map(\.number) == model.keys.sorted(), "seed \(seed)")
    }
  }

  @Test func `what comes behind all others is appended, what does not finds its place`() {
    var map: SparseMap<String> = [3: "c", 1: "a"]
    map.append(7, "g")
    map.append(5, "e")
    map.append(5, "E")
    #expect(map.pairs.map(\.value) == ["a", "c", "E", "g"])
    #expect(map == [1: "a", 3: "c", 5: "E", 7: "g"])
  }

  @Test func `taking in any order moves nothing`() {
    let numbers = (0..<200).map { $0 * 3 }
    var map = SparseMap<String>()
    for number in numbers { map.append(number, "\(number)") }
    var random = SeededRandom(4)
    for number in numbers.shuffled(using: &random) {
      #expect(map.take(number, leaving: "") == "\(number)")
      #expect(map.count == numbers.count, "what was moved would have closed a gap")
    }
    #expect(map.pairs.map(\.number) == numbers && map.pairs.allSatisfy { $0.value.isEmpty })
    #expect(map.take(1, leaving: "") == nil && map.take(1_000, leaving: "") == nil)
  }

  @Test func `fields are found by name and come in their order`() {
    for seed in 0..<50 as Range<UInt64> {
      let random = SeededRandom(seed)
      var fields = RecordFields()
      var model: [String: Int64] = [:]
      for step in 0..<60 as Range<Int64> {
        let name = "f\(random.below(12))"
        if random.below(3) == 0 {
          (fields[name], model[name]) = (nil, nil)
        } else {
          (fields[name], model[name]) = (Register(.int(step)), step)
        }
        let other = "f\(random.below(12))"
        fields.update(other) { $0 = Register(.int(-step)) }
        if model[other] != nil { model[other] = -step }
      }
      #expect(fields.keys == model.keys.sorted() && fields.count == model.count)
      for (name, register) in fields {
        #expect(register.visible(.remote) == model[name].map(FieldValue.int), "seed \(seed)")
      }
    }
  }
}
