import CairnMerge
import Testing

/// Whether a device with cuts of its own gives way to one that others have sealed.
extension CutBookTests {
  /// Of a and b, open; its line goes before that of the other.
  private var own: Cut { CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1])) }
  /// Of c alone, sealed.
  private var other: Cut { CutBook().proposal(dot(c, 2), seen: vector([c: 1])) }
  private var seen: VersionVector { vector([a: 2, b: 1]) }
  /// That a member of the own cut has applied the other one.
  private var lost: CutBook.Words { [b: vector([b: 1, c: 2])] }

  @Test func `an open cut stands against a sealed one for as long as it can be sealed`() {
    #expect(!own.isSealed && other.isSealed && !Cut.isBefore(other.line, own.line))
    func mustYield(_ words: CutBook.Words, gone: Set<DeviceID> = []) -> Bool {
      book(own).mustYield(to: other, seen: seen, words: words, gone: gone)
    }
    #expect(!mustYield([:]))
    #expect(mustYield(lost))
    // What a member has said without it is its last word only if it has left its name.
    #expect(!mustYield([b: vector([b: 1])]))
    #expect(mustYield([b: vector([b: 1])], gone: [b]))
    #expect(!mustYield([b: seen], gone: [b]))
  }

  @Test func `one cut that stands is enough, and who has seen the other one never gives way`() {
    let second = CutBook().proposal(dot(b, 3), seen: vector([b: 2]))
    #expect(second.isSealed && !Cut.isBefore(other.line, second.line))
    let more = vector([a: 2, b: 3])
    #expect(!book(own, second).mustYield(to: other, seen: more, words: lost))
    #expect(!book(second).mustYield(to: other, seen: more, words: lost))
    #expect(book(own).mustYield(to: other, seen: more, words: lost))
    var wide = other
    // It has this one, too.
    wide.seal = vector([a: 2, c: 3])
    #expect(book(own).mustYield(to: wide, seen: seen, words: [:]))
    wide.seal = vector([a: 1, c: 3])
    #expect(!book(own).mustYield(to: wide, seen: seen, words: [:]))

    let both = vector([a: 2, b: 1, c: 2])
    #expect(book(own).mustYield(to: other, seen: seen, words: lost))
    #expect(!book(own).mustYield(to: other, seen: both, words: lost))
    var open = other
    open.seal = nil
    #expect(!book(own).mustYield(to: open, seen: seen, words: lost))
  }
}
