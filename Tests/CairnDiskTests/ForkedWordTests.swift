import Testing

@testable import CairnDisk

/// The word that tells a process from its parent, also where the system offers less than Linux.
struct ForkedWordTests {
  @Test func `a word keeps its number until it is emptied`() {
    for word in [unsafe ForkedWord(page: ForkedWord.page()), unsafe ForkedWord(page: nil)] {
      #expect(word.isEmptied)
      #expect(word.value == 0)
      let first = word.generation()
      #expect(first != 0)
      #expect(word.generation() == first && word.value == first)
      // As in a child.
      word.empty()
      #expect(word.value == 0)
      #expect(word.generation() != first)
    }
  }

  @Test func `a system that knows no such advice has no page for it`() {
    let page = unsafe ForkedWord.page(-1)
    #expect(unsafe page == nil)
  }

  @Test func `room that there can't be is none`() {
    #expect(MemoryRoom(1 << 50) == nil)
  }
}
