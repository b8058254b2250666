import Testing

@testable import Cairn

/// How long it is until the next look at a folder.
@Suite struct PollPauseTests {
  @Test func `a pause doubles up to the longest, and is the shortest after something has happened`()
  {
    let pause = PollPause(shortest: 1, longest: 5)
    for _ in 0..<2 {
      var seen = [pause.current]
      for _ in 0..<5 {
        pause.note(isIdle: true)
        seen.append(pause.current)
      }
      #expect(seen == [1, 2, 4, 5, 5, 5])
      pause.note(isIdle: false)
    }
    #expect(pause.current == 1)
    pause.note(isIdle: false)
    #expect(pause.current == 1)
  }
}
