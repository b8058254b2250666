import CairnMerge
import Testing

struct FieldValueTests {
  /// Ascending; what stands together in one row ties.
  static let ascending: [[FieldValue?]] = [
    [nil],
    [.bool(false)], [.bool(true)],
    [.double(.nan), .double(-.nan), .double(.signalingNaN)],
    [.double(-.infinity)], [.double(-0x1p64)], [.int(.min), .double(-0x1p63)],
    [.int(.min + 1)], [.int(-5)], [.double(-0.5)],
    [.int(0), .double(0), .double(-0.0)],
    [.double(.leastNonzeroMagnitude)], [.double(0.5)], [.int(1), .double(1)], [.double(1.5)],
    [.int(3)], [.int(10)],
    [.int(1 << 53), .double(0x1p53)], [.int(1 << 53 + 1)], [.double(0x1p53 + 2)],
    [.int(.max - 1)], [.int(.max)], [.double(0x1p63)], [.double(.infinity)],
    [.date(.min)], [.date(-1)], [.date(0)], [.date(7)],
    [.string("")], [.string("A")], [.string("a")], [.string("aa")], [.string("a\u{301}")],
    [.string("b")], [.string("\u{e1}")], [.string("\u{FFFF}")], [.string("\u{10000}")],
    [.bytes([])], [.bytes([0x01])], [.bytes([0x01, 0x00])], [.bytes([0xFB])],
    [.list([])], [.list([.bool(true)])], [.list([.int(1)]), .list([.double(1)])],
    [.list([.int(1), .int(0)])], [.list([.int(2)])], [.list([.string("a")])],
  ]

  @Test func `order is total and ties are ties`() {
    for (index, row) in Self.ascending.enumerated() {
      for (other, otherRow) in Self.ascending.enumerated() {
        for a in row {
          for b in otherRow {
            let expected = index < other ? -1 : index == other ? 0 : 1
            #expect(FieldValue.ordered(a, b) == expected, "\(a as Any) and \(b as Any)")
          }
        }
      }
    }
  }

  @Test func `queries match what ties in order`() {
    for (index, row) in Self.ascending.enumerated() {
      for (other, otherRow) in Self.ascending.enumerated() {
        for a in row.compactMap(\.self) {
          for b in otherRow.compactMap(\.self) {
            #expect(a.matches(b) == (index == other), "\(a) and \(b)")
          }
        }
      }
    }
  }

  @Test func `equality is of types and bytes`() {
    let different: [FieldValue] = [
      .int(1), .double(1), .bool(true), .date(1), .double(0), .double(-0.0),
      .string("\u{e1}"), .string("a\u{301}"), .list([.int(1)]), .list([.double(1)]),
    ]
    for (index, a) in different.enumerated() {
      for (other, b) in different.enumerated() { #expect((a == b) == (index == other)) }
    }
    #expect(Set(different).count == different.count)
    #expect(FieldValue.double(.nan) == .double(-.nan))
    #expect(Set([FieldValue.double(.nan), .double(.signalingNaN)]).count == 1)
    #expect(Double(bitPattern: Double.signalingNaN.canonicalBits).isNaN)
    #expect((-0.0).canonicalBits == (-0.0).bitPattern)
  }

  @Test func `a list may not hold a list`() {
    #expect(FieldValue.list([.int(1), .string("")]).isStorable)
    #expect(!FieldValue.list([.int(1), .list([])]).isStorable)
    #expect(FieldValue.int(1).isStorable)
  }

  @Test func `sizes count the bytes of text, bytes and lists`() {
    let sizes: [(FieldValue, Int)] = [
      (.bool(true), 0), (.int(.max), 0), (.double(1), 0), (.date(1), 0), (.string(""), 0),
      (.string("abc"), 3), (.string("é"), 2), (.string("𝄞"), 4), (.bytes([]), 0),
      (.bytes([1, 2]), 2), (.list([]), 0), (.list([.int(1)]), 20),
      (.list([.string("ab"), .bytes([1]), .bool(true)]), 63),
    ]
    for (value, size) in sizes {
      #expect(value.size == size, "\(value)")
      #expect(Sizes.field(value) == 100 + size)
    }
    #expect(Sizes.field(nil) == 100)
  }

  @Test func `a record's size is the sum of what is visible`() {
    var state = RecordState()
    #expect(state.size { _ in .remote } == 0)
    state.presences = [Presence(stamp: .settled, born: [])]
    #expect(state.size { _ in .remote } == 100)
    state.fields = ["a": Register(.string("abc")), "b": Register(.int(1)), "c": Register(nil)]
    #expect(state.size { _ in .remote } == 303)
    #expect(state.exists)
  }

  @Test func `limits are those of the documentation`() {
    let limits = Limits()
    #expect(limits.recordBytes == 102_400)
    #expect(limits.records == 100_000)
    #expect(limits.datastoreBytes == 10_485_760)
    #expect(limits.deltaBytes == 2_097_152)
  }

  @Test func `numbers add exactly, wrap, and become doubles with a double`() {
    #expect(Number.int(.max).adding(.int(1)) == .int(.min))
    #expect(Number.int(.min).subtracting(.int(1)) == .int(.max))
    #expect(Number.int(1).adding(.double(0.5)) == .double(1.5))
    #expect(Number.double(1.5).subtracting(.int(1)) == .double(0.5))
    #expect(Number.int(1) != .double(1))
    #expect(Number(.double(.infinity)) == nil && Number(.double(.nan)) == nil)
    #expect(Number(.bool(true)) == nil && Number(.date(1)) == nil)
  }
}
