import CairnMerge
import Testing

struct CutBookTests {
  let a = DeviceID(rawValue: 1)
  let b = DeviceID(rawValue: 2)
  let c = DeviceID(rawValue: 3)
  let d = DeviceID(rawValue: 4)

  func vector(_ counts: KeyValuePairs<DeviceID, UInt64>) -> VersionVector {
    VersionVector(counts.map { Dot(device: $0.key, sequence: $0.value) })
  }

  func dot(_ device: DeviceID, _ sequence: UInt64) -> Dot {
    Dot(device: device, sequence: sequence)
  }

  func book(_ cuts: Cut...) -> CutBook {
    var book = CutBook()
    for cut in cuts { book.insert(cut) }
    return book
  }

  @Test func `a device that knows no other one seals its cut at once`() {
    let cut = CutBook().proposal(dot(a, 4), seen: vector([a: 3]))
    #expect(cut.members == [a])
    #expect(cut.isSealed)
    #expect(book(cut).fence == vector([a: 4]))
  }

  @Test func `a cut is sealed when all members have applied it, and what they had is here`() {
    let cut = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1]))
    #expect(cut.members == [a, b])
    #expect(book(cut).fence.isEmpty)
    let seen = vector([a: 2, b: 1])
    #expect(!CutBook.isSealable(cut, seen: seen, words: [a: seen]))
    #expect(!CutBook.isSealable(cut, seen: seen, words: [a: seen, b: vector([a: 1, b: 3])]))
    #expect(!CutBook.isSealable(cut, seen: seen, words: [a: seen, b: vector([a: 2, b: 3])]))
    #expect(CutBook.isSealable(cut, seen: seen, words: [a: seen, b: seen]))
  }

  @Test func `a stranger's delta counts if a member had it in time`() {
    let cut = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1]))
    let book = book(cut)
    let stray = vector([a: 1, c: 1])
    #expect(book.obstacle(to: dot(c, 1), context: stray, words: [:]) == cut)
    #expect(book.obstacle(to: dot(c, 1), context: stray, words: [c: stray]) == cut)
    let word = vector([a: 1, b: 1, c: 1])
    #expect(book.obstacle(to: dot(c, 1), context: stray, words: [b: word]) == nil)
    #expect(book.obstacle(to: dot(b, 2), context: vector([b: 2]), words: [:]) == nil)
    #expect(book.obstacle(to: dot(c, 1), context: vector([a: 2, c: 1]), words: [:]) == nil)
  }

  @Test func `once a cut is sealed, only what has seen it counts`() {
    var cut = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1]))
    cut.seal = vector([a: 3, b: 1])
    let book = book(cut)
    let word = vector([a: 1, b: 2])
    #expect(book.obstacle(to: dot(b, 2), context: word, words: [b: word]) == cut)
    #expect(book.obstacle(to: dot(b, 2), context: vector([a: 2, b: 2]), words: [:]) == nil)
  }

  @Test func `a cut is applied only by who has nothing that it cuts off`() {
    let cut = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1]))
    #expect(CutBook.admits(cut, at: b, seen: vector([b: 9]), words: [:]))
    #expect(CutBook.admits(cut, at: c, seen: vector([a: 1]), words: [:]))
    #expect(!CutBook.admits(cut, at: c, seen: vector([a: 1, c: 1]), words: [:]))
    let word = vector([a: 2, b: 1, c: 1])
    #expect(CutBook.admits(cut, at: c, seen: vector([a: 1, c: 1]), words: [b: word]))
  }

  @Test func `who has something that a sealed cut does not admit gives way`() {
    var cut = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1]))
    let seen = vector([a: 1, c: 2])
    #expect(!CutBook().mustYield(to: cut, seen: seen, words: [:]))
    cut.seal = vector([a: 3, b: 1, c: 2])
    #expect(!CutBook().mustYield(to: cut, seen: seen, words: [:]))
    cut.seal = vector([a: 3, b: 1, c: 1])
    #expect(CutBook().mustYield(to: cut, seen: seen, words: [:]))
  }

  @Test func `of what was seen beside a sealed cut only what the seal has counts`() {
    var cut = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1]))
    let seen = vector([a: 1, b: 3, c: 2])
    #expect(book(cut).admitted(of: seen) == nil)
    cut.seal = vector([a: 3, b: 2])
    #expect(book(cut).admitted(of: seen) == vector([a: 3, b: 2]))
    #expect(book(cut).admitted(of: vector([a: 2, b: 1])) == nil)
  }

  @Test func `a cut that a member's leaving has made unsealable is repeated by its author, once`() {
    let cut = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1]))
    var book = book(cut)
    #expect(!book.mustRepeatCut(of: a, words: [:]))
    // Also if that is known from a record only that the cut itself keeps out.
    #expect(book.mustRepeatCut(of: a, words: [:], gone: [b]))
    #expect(!book.mustRepeatCut(of: a, words: [b: vector([a: 2, b: 1])], gone: [b]))
    book.earlierNames[b] = EarlierName(b, next: c, common: 1)
    #expect(book.mustRepeatCut(of: a, words: [:]))
    #expect(!book.mustRepeatCut(of: a, words: [b: vector([a: 2, b: 1])]))
    #expect(!book.mustRepeatCut(of: c, words: [:]))
    // The record of a name that was left retires it.
    book.retired = [b]
    book.insert(book.proposal(dot(a, 3), seen: vector([a: 2, b: 1])))
    #expect(!book.mustRepeatCut(of: a, words: [:]))
  }

  @Test func `of two that have cut each other off, one gives way`() {
    let one = CutBook().proposal(dot(a, 1), seen: vector([:]))
    let other = CutBook().proposal(dot(b, 1), seen: vector([:]))
    #expect(!book(one).mustYield(to: other, seen: vector([a: 1]), words: [:]))
    #expect(book(other).mustYield(to: one, seen: vector([b: 1]), words: [:]))
  }

  @Test func `whom a device has retired is no member of its cuts`() {
    var book = CutBook()
    book.retired = [c]
    let seen = vector([a: 1, b: 1, c: 1])
    #expect(book.proposal(dot(a, 2), seen: seen).members == [a, b])
    #expect(book.proposal(dot(a, 2), seen: seen, retiring: [b]).members == [a])
  }

  @Test func `a retired device is left out when a sealed cut leaves nothing of it to come`() {
    let seen = vector([a: 2, b: 1, c: 2])
    var cut = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1, c: 2]), retiring: [c])
    func isLeftOut(_ seen: VersionVector, retired: Set<DeviceID>, word: VersionVector?) -> Bool {
      var book = book(cut)
      book.retired = retired
      return book.isLeftOut(c, seen: seen, word: word)
    }
    // Of it may come what a member had.
    #expect(!isLeftOut(seen, retired: [c], word: vector([c: 2])))
    cut.seal = vector([a: 3, b: 1, c: 2])
    #expect(isLeftOut(seen, retired: [c], word: vector([c: 2])))
    #expect(isLeftOut(seen, retired: [c], word: nil))
    #expect(!isLeftOut(seen, retired: [b], word: nil))
    // It has merged the cut, or written after it.
    #expect(!isLeftOut(seen, retired: [c], word: vector([a: 2, b: 1, c: 2])))
    #expect(!isLeftOut(vector([a: 2, b: 1, c: 3]), retired: [c], word: nil))
  }

  @Test func `a line is not longer than its bound and keeps its founder`() {
    var book = CutBook()
    for sequence in 1...100 as ClosedRange<UInt64> {
      let cut = book.proposal(dot(a, sequence), seen: vector([a: sequence - 1]))
      for old in book.replaced(by: cut) { book.remove(old.dot) }
      book.insert(cut)
    }
    #expect(book.cuts.count == 1)
    #expect(book.cuts[0].line.count == Cut.lineMax)
    #expect(book.cuts[0].line.first == dot(a, 1))
    #expect(book.cuts[0].line.last == dot(a, 100))
  }

  @Test func `names that were left are followed back, and come back from their bytes`() throws {
    var book = CutBook()
    let first = EarlierName(a, next: b, common: 3)
    book.earlierNames = [a: first, b: EarlierName(b, next: c, common: 2)]
    #expect(book.earlierNames(of: c).map(\.name) == [b, a])
    #expect(book.earlierNames(of: a).isEmpty)
    #expect(try EarlierName(a, first.encoded) == first)
    // A circle, which nobody makes, ends.
    book.earlierNames[c] = EarlierName(c, next: a, common: 0)
    #expect(book.earlierNames(of: c).count == 3)
  }

  @Test func `what was written once more is found under its next name`() {
    var book = CutBook()
    book.earlierNames = [
      a: EarlierName(a, next: b, common: 3), b: EarlierName(b, next: c, common: 2),
    ]
    let seen = vector([a: 3, b: 2, c: 5])
    #expect(book.presentName(of: dot(a, 2), seen: seen) == dot(a, 2))
    #expect(book.presentName(of: dot(a, 4), seen: seen) == dot(b, 1))
    #expect(book.presentName(of: dot(a, 7), seen: seen) == dot(c, 2))
    // A circle, which nobody makes, ends.
    book.earlierNames[c] = EarlierName(c, next: a, common: 0)
    #expect(book.presentName(of: dot(c, 100), seen: vector([:])).sequence < 100)
  }

  @Test func `who gave way gives way again only where nothing would be doubled or lost`() {
    var book = CutBook()
    book.earlierNames = [a: EarlierName(a, next: b, common: 3)]
    #expect(book.ambiguousName(of: b, seal: vector([a: 3, b: 1])) == nil)
    // There twice: under the first name, and as it was written once more.
    #expect(book.ambiguousName(of: b, seal: vector([a: 4]))?.name == a)
    // Not at all: it was not written once more.
    #expect(book.ambiguousName(of: b, seal: vector([a: 2]))?.name == a)
    #expect(book.ambiguousName(of: c, seal: vector([a: 4])) == nil)
  }

  @Test func `a cut is lost to one that a member of both has applied first`() {
    let own = CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1]))
    let other = CutBook().proposal(dot(c, 2), seen: vector([c: 1, b: 1]))
    #expect(own.members == [a, b] && other.members == [b, c])
    #expect(CutBook.isLost(own, to: other, words: [:], gone: []))
    // One that shares no member takes nothing away, unless a member says that it has applied it …
    let stranger = CutBook().proposal(dot(c, 2), seen: vector([c: 1]))
    #expect(stranger.members == [c])
    #expect(!CutBook.isLost(own, to: stranger, words: [:], gone: []))
    let word = vector([b: 1, c: 2])
    #expect(CutBook.isLost(own, to: stranger, words: [b: word], gone: []))
    // … or has said its last word without ours.
    #expect(CutBook.isLost(own, to: stranger, words: [b: vector([b: 1])], gone: [b]))
    #expect(!CutBook.isLost(own, to: stranger, words: [b: vector([a: 2, b: 1])], gone: [b]))
    // What is sealed is sealed.
    var sealed = own
    sealed.seal = vector([a: 3, b: 1])
    #expect(!CutBook.isLost(sealed, to: other, words: [b: word], gone: [b]))
  }
}
