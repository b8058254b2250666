import Testing

@testable import CairnCouchDB

/// How long a server wants to be left alone.
@Suite struct AskedPauseTests {
  @Test func `the longest that was asked for counts, once, and never more than a day`() {
    let asked = AskedPause()
    #expect(asked.take() == 0)
    for seconds in [nil, 5, 30, 3, nil] as [Double?] { asked.note(seconds) }
    #expect(asked.take() == 30)
    #expect(asked.take() == 0, "it was taken")
    for seconds in [86_401, 1e300, .infinity] as [Double] {
      asked.note(seconds)
      #expect(asked.take() == 86_400)
    }
    asked.note(86_399)
    #expect(asked.take() == 86_399)
    asked.note(-1)
    #expect(asked.take() == 0)
  }
}
