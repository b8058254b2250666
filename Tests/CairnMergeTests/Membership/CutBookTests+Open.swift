import CairnMerge
import Testing

/// What holds beside a cut, and which of several goes on.
extension CutBookTests {
  /// Of a and b.
  private var cut: Cut { CutBook().proposal(dot(a, 2), seen: vector([a: 1, b: 1])) }

  @Test func `nobody waits for a cut whose author has gone, or a member without it`() {
    let (own, having, without) = (cut, vector([a: 2, b: 1]), vector([a: 1, b: 1]))
    var book = book(own)
    #expect(!book.isForsaken(own, words: [:]))
    func check(_ book: CutBook) {
      #expect(book.isForsaken(own, words: [:]))
      #expect(book.isForsaken(own, words: [a: having, b: without]))
      #expect(!book.isForsaken(own, words: [b: having]))
    }
    book.retired = [b]
    check(book)
    book.retired = []
    book.earlierNames[b] = EarlierName(b, next: c, common: 1)
    check(book)
    // Whoever has it, nobody but its author seals it.
    book.earlierNames = [:]
    for isRetired in [true, false] {
      book.retired = isRetired ? [a] : []
      book.earlierNames = isRetired ? [:] : [a: EarlierName(a, next: c, common: 1)]
      #expect(book.isForsaken(own, words: [a: having, b: having]))
    }
    // It waits for none but its members, and once it is sealed for nobody.
    (book.retired, book.earlierNames) = ([c], [:])
    #expect(!book.isForsaken(own, words: [:]))
    var sealed = own
    sealed.seal = vector([a: 3, b: 1])
    book.retired = [a, b]
    #expect(!book.isForsaken(sealed, words: [:]))
  }

  @Test func `lines are told apart where they first differ, and go before their own beginnings`() {
    let (one, two, three) = (dot(a, 1), dot(b, 1), dot(c, 1))
    let ascending = [[one, two, three], [one, two], [one, three], [one], [two, one], [two]]
    for (index, line) in ascending.enumerated() {
      for (other, otherLine) in ascending.enumerated() {
        #expect(Cut.isBefore(line, otherLine) == (index < other), "\(line), \(otherLine)")
      }
    }
  }

  @Test func `a new cut goes on with the smallest line that there is`() {
    let one = CutBook().proposal(dot(a, 1), seen: vector([:]))
    let two = CutBook().proposal(dot(b, 1), seen: vector([:]))
    let next = book(two, one).proposal(dot(c, 1), seen: vector([a: 1, b: 1]))
    #expect(next.line == [dot(a, 1), dot(c, 1)])
    // Not with the one that comes first by name.
    let later = book(two).proposal(dot(b, 2), seen: vector([b: 1]))
    let long = book(one).proposal(dot(c, 7), seen: vector([a: 1, c: 6]))
    #expect(
      book(later, long).proposal(dot(d, 1), seen: vector([b: 2, c: 7])).line
        == [dot(a, 1), dot(c, 7), dot(d, 1)])
  }

  @Test func `what was heard by whoever has a cut counts beside it, and what its seal has`() {
    var cut = cut
    let seen = vector([a: 1, c: 1])
    let without = vector([a: 1, c: 1, d: 1])
    let having = vector([a: 2, b: 1, c: 1, d: 1])
    // d is no member: what it had before it had the cut says nothing.
    #expect(!CutBook.admits(cut, at: c, seen: seen, words: [d: without]))
    #expect(book(cut).obstacle(to: dot(c, 1), context: seen, words: [d: without]) == cut)
    #expect(CutBook.admits(cut, at: c, seen: seen, words: [d: having]))
    #expect(book(cut).obstacle(to: dot(c, 1), context: seen, words: [d: having]) == nil)
    cut.seal = vector([a: 3, b: 1, c: 1])
    #expect(CutBook.admits(cut, at: c, seen: seen, words: [:]))
    #expect(!CutBook.admits(cut, at: c, seen: vector([a: 1, c: 2]), words: [:]))
  }

  @Test func `beside two sealed cuts only what both seals have counts`() {
    var one = cut
    one.seal = vector([a: 3, b: 2, c: 5])
    var two = CutBook().proposal(dot(c, 9), seen: vector([b: 1, c: 8]))
    two.seal = vector([b: 4, c: 9])
    #expect(book(one, two).admitted(of: vector([a: 1, b: 9, c: 8])) == vector([b: 2, c: 5]))
    // One of them was seen.
    #expect(book(one, two).admitted(of: vector([a: 2, b: 9, c: 8])) == two.seal)
  }
}
