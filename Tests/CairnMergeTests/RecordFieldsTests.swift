import CairnMerge
import TestSupport
import Testing

/// Many fields of one record, in orders that somebody else has chosen.
struct RecordFieldsTests {
  private static let many = 6 * RecordFields.few

  private static func name(_ number: Int) -> String { "f\(1_000 + number)" }

  enum Order: CaseIterable {
    case ascending, descending, shuffled

    var numbers: [Int] {
      var random = SeededRandom(3)
      switch self {
      case .ascending: return Array(0..<many)
      case .descending: return (0..<many).reversed()
      case .shuffled: return (0..<many).shuffled(using: &random)
      }
    }
  }

  /// In how many places something else lies now.
  private static func moves(_ before: [Register], _ after: [Register]) -> Int {
    zip(before, after).count { $0 != $1 }
  }

  @Test(arguments: Order.allCases)
  func `a new field moves others only as long as there are few`(order: Order) {
    var fields = RecordFields()
    var moved = 0
    for number in order.numbers {
      let before = fields.values
      fields[Self.name(number)] = Register(.int(Int64(number)))
      moved += Self.moves(before, fields.values)
    }
    #expect(moved <= RecordFields.few * RecordFields.few / 2 + RecordFields.few)
    #expect(fields.keys == (0..<Self.many).map(Self.name) && fields.count == Self.many)
    for number in 0..<Self.many {
      #expect(fields[Self.name(number)]?.visible(.remote) == .int(Int64(number)))
    }
  }

  @Test(arguments: Order.allCases)
  func `each field is found as soon as there are many, and when there are few again`(
    order: Order
  ) {
    var fields = RecordFields()
    let numbers = Array(order.numbers[..<(RecordFields.few + 2)])
    func isFound(_ number: Int) -> Bool {
      fields[Self.name(number)]?.visible(.remote) == .int(Int64(number))
    }
    for _ in 0..<2 {
      for (index, number) in numbers.enumerated() {
        fields[Self.name(number)] = Register(.int(Int64(number)))
        #expect(numbers[...index].allSatisfy(isFound))
      }
      for (index, number) in numbers.enumerated() {
        fields[Self.name(number)] = nil
        #expect(!isFound(number) && numbers[(index + 1)...].allSatisfy(isFound))
      }
    }
  }

  @Test(arguments: Order.allCases)
  func `one that goes moves one other as long as there are many`(order: Order) {
    var fields = RecordFields()
    let order = order.numbers
    for number in Order.shuffled.numbers {
      fields[Self.name(number)] = Register(.int(Int64(number)))
    }
    for (index, number) in order.enumerated() {
      let before = fields.values
      fields[Self.name(number)] = nil
      let left = order[(index + 1)...].sorted()
      #expect(fields.keys == left.map(Self.name))
      if left.count > RecordFields.few {
        #expect(Self.moves(before, fields.values) <= 1)
      } else {
        #expect(fields.values.map { $0.visible(.remote) } == left.map { .int(Int64($0)) })
      }
    }
    #expect(fields.isEmpty && fields == RecordFields())
  }

  @Test func `fields that came in another order are the same fields`() throws {
    let all = Order.allCases.map { order in
      var fields = RecordFields()
      for number in order.numbers { fields[Self.name(number)] = Register(.int(Int64(number))) }
      return fields
    }
    #expect(Set(all).count == 1 && all[0] == all[1] && all[1] == all[2])
    var bytes: [[UInt8]] = []
    for fields in all {
      bytes.append([])
      RecordStateCoding.encode(RecordState(fields: fields), into: &bytes[bytes.count - 1])
      #expect(fields.map(\.key) == fields.keys)
    }
    #expect(Set(bytes).count == 1)
    #expect(try RecordStateCoding.decode(bytes[0], 0..<bytes[0].count).fields == all[1])
    var other = all[1]
    other.update(Self.name(7)) { $0 = Register(.int(-1)) }
    #expect(other != all[0] && other.count == all[0].count)
  }

  @Test func `a delete kills the fields of a record that has many`() {
    let device = DeviceID(rawValue: 1)
    func stamp(_ sequence: UInt64) -> Stamp {
      Stamp(dot: Dot(device: device, sequence: sequence), time: 5)
    }
    var state = RecordState()
    for (index, number) in Order.descending.numbers.enumerated() {
      let stamp = stamp(UInt64(index) + 1)
      state.apply(
        .write(field: Self.name(number), .put(.int(Int64(number)), covered: [])), stamp: stamp,
        context: VersionVector([stamp.dot]), born: [])
    }
    #expect(state.fields.count == Self.many)
    let end = stamp(UInt64(Self.many) + 1)
    state.apply(.delete, stamp: end, context: VersionVector([end.dot]), born: [])
    #expect(state.fields.isEmpty && !state.exists)
  }
}
