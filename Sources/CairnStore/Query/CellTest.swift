import CairnBytes
import CairnMerge

/// A `ValueTest`, ready to be asked of cells without building values.
struct CellTest {
  let test: ValueTest
  private(set) var ints: [ClosedRange<Int64>] = []
  private(set) var dates: [ClosedRange<Int64>] = []
  /// By their words in the order of numbers.
  private(set) var doubles: [ClosedRange<UInt64>] = []
  private var matchesNo = false
  private var matchesYes = false
  private(set) var matchesAbsent = false
  private(set) var texts = BytesTest.never
  private var bytes = BytesTest.never
  /// Lists are few, and built to be asked.
  private var mayMatchLists = false

  init(_ test: ValueTest) {
    self.test = test
    switch test {
    case .equals(let value): include([value])
    case .oneOf(let values): include(values)
    case .notEquals(let value):
      includeAll()
      exclude(value)
    case .range(let range): include(range)
    case .exists: includeAll()
    case .isAbsent: matchesAbsent = true
    case .hasPrefix(let text): texts = .hasPrefix([UInt8](text.utf8))
    }
  }

  /// Lists in a record's state have no bytes: they come as what a view of them shows.
  func matches(_ view: CellView) -> Bool {
    if let items = view.items { return mayMatchLists && test.matches(.list(items)) }
    return matches(view.cell, view.heap)
  }

  @inline(__always)
  func matches(_ cell: Cell, _ heap: [UInt8]) -> Bool {
    switch cell.tag {
    case CellTag.no: return matchesNo
    case CellTag.yes: return matchesYes
    case CellTag.int: return CellTest.contains(ints, Int64(bitPattern: cell.word))
    case CellTag.date: return CellTest.contains(dates, Int64(bitPattern: cell.word))
    case CellTag.double:
      return CellTest.contains(doubles, NumberWord.of(Double(bitPattern: cell.word)))
    case CellTag.string: return texts.matches(heap, Cell.heapRange(cell.word))
    case CellTag.bytes: return bytes.matches(heap, Cell.heapRange(cell.word))
    case CellTag.list, CellTag.createdList: return mayMatchLists && test.matches(cell.value(heap))
    default: return matchesAbsent
    }
  }

  @inline(__always)
  private static func contains<Bound>(_ ranges: [ClosedRange<Bound>], _ value: Bound) -> Bool {
    for range in ranges where range.contains(value) { return true }
    return false
  }
}

/// From conditions to ranges.
extension CellTest {
  private mutating func includeAll() {
    ints = [.min ... .max]
    dates = [.min ... .max]
    doubles = [0 ... .max]
    (matchesNo, matchesYes, mayMatchLists) = (true, true, true)
    (texts, bytes) = (.always, .always)
  }

  private mutating func include(_ values: [FieldValue]) {
    var texts: [[UInt8]] = []
    var blobs: [[UInt8]] = []
    for value in values {
      switch value {
      case .bool(let flag):
        if flag { matchesYes = true } else { matchesNo = true }
      case .int, .double:
        let point = CellTest.point(value)
        if let range = point.ints { ints.append(range) }
        if let range = point.doubles { doubles.append(range) }
      case .date(let time): dates.append(time...time)
      case .string(let text): texts.append([UInt8](text.utf8))
      case .bytes(let value): blobs.append(value)
      case .list: mayMatchLists = true
      }
    }
    if !texts.isEmpty { self.texts = .equalsOne(of: texts) }
    if !blobs.isEmpty { bytes = .equalsOne(of: blobs) }
  }

  private static func point(_ value: FieldValue) -> NumberBounds {
    NumberBounds(from: value, isIncluded: true).intersection(
      NumberBounds(through: value, isIncluded: true))
  }

  private mutating func exclude(_ value: FieldValue) {
    switch value {
    case .bool(let flag):
      if flag { matchesYes = false } else { matchesNo = false }
    case .int, .double:
      let below = NumberBounds(through: value, isIncluded: false)
      let above = NumberBounds(from: value, isIncluded: false)
      ints = [below.ints, above.ints].compactMap { $0 }
      doubles = [below.doubles, above.doubles].compactMap { $0 }
    case .date(let time):
      dates = []
      if time > .min { dates.append(.min ... (time - 1)) }
      if time < .max { dates.append((time + 1) ... .max) }
    case .string(let text): texts = .differs(from: [UInt8](text.utf8))
    case .bytes(let value): bytes = .differs(from: value)
    case .list: break
    }
  }

  private mutating func include(_ range: ValueRange) {
    guard let kind = range.lower ?? range.upper else {
      includeAll()
      return
    }
    if let lower = range.lower, let upper = range.upper, !FieldValue.isSameKind(lower, upper) {
      return
    }
    switch kind {
    case .bool:
      matchesNo = range.contains(.bool(false))
      matchesYes = range.contains(.bool(true))
    case .int, .double:
      var bounds = NumberBounds()
      if let lower = range.lower {
        bounds = NumberBounds(from: lower, isIncluded: range.includesLower)
      }
      if let upper = range.upper {
        bounds = bounds.intersection(
          NumberBounds(through: upper, isIncluded: range.includesUpper))
      }
      ints = bounds.ints.map { [$0] } ?? []
      doubles = bounds.doubles.map { [$0] } ?? []
    case .date: dates = CellTest.dates(range)
    case .string: texts = .range(CellTest.bounds(range))
    case .bytes: bytes = .range(CellTest.bounds(range))
    case .list: mayMatchLists = true
    }
  }

  private static func dates(_ range: ValueRange) -> [ClosedRange<Int64>] {
    var bounds = NumberBounds()
    if case .date(let time)? = range.lower {
      bounds = NumberBounds(from: .int(time), isIncluded: range.includesLower)
    }
    if case .date(let time)? = range.upper {
      bounds = bounds.intersection(
        NumberBounds(through: .int(time), isIncluded: range.includesUpper))
    }
    return bounds.ints.map { [$0] } ?? []
  }

  private static func bounds(_ range: ValueRange) -> BytesTest.Bounds {
    func bytes(_ value: FieldValue?) -> [UInt8]? {
      switch value {
      case .string(let text)?: [UInt8](text.utf8)
      case .bytes(let bytes)?: bytes
      default: nil
      }
    }
    return BytesTest.Bounds(
      lower: bytes(range.lower), upper: bytes(range.upper),
      includesLower: range.includesLower, includesUpper: range.includesUpper)
  }
}
