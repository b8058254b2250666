import TestSupport
import Testing

@testable import Cairn

/// What ends rounds in the background, and what does not.
@Suite struct RoundEndTests {
  /// What a round that failed like that means, and how often it was told.
  private func end(
    with code: CairnError.Code, isOver: Bool = true
  ) -> (outcome: BackgroundRounds.Outcome, told: Int) {
    var told = 0
    let outcome = BackgroundRounds.Outcome(of: CairnError(code, "no"), isOver: isOver) { error in
      if error.code == code { told += 1 }
    }
    return (outcome, told)
  }

  @Test(arguments: [CairnError.Code.closed, .shutdown, .deleted])
  func `where there is nothing to exchange any more they end without a word`(
    code: CairnError.Code
  ) {
    let (outcome, told) = end(with: code)
    #expect(outcome == .stop && told == 0)
  }

  @Test(arguments: [CairnError.Code.closed, .shutdown, .deleted])
  func `where something else says that it is gone they go on, and the app is told of it`(
    code: CairnError.Code
  ) {
    let (outcome, told) = end(with: code, isOver: false)
    #expect(outcome == .idle && told == 1)
  }

  /// Cancelled by whoever has cancelled something else: nobody has asked this one to end.
  @Test(arguments: [CairnError.Code.network, .notFound, .diskSpace, .disallowed, .cancelled])
  func `after any other error they go on, and the app is told of it`(code: CairnError.Code) {
    let (outcome, told) = end(with: code)
    #expect(outcome == .idle && told == 1)
  }

  #if os(Linux)
    /// A round that is under way asks for that once more when it ends.
    @Test func `a directory whose watching was ended is not watched again`() throws {
      let place = try TemporaryDirectory()
      let watcher = LateWatcher(place.path) {}
      #expect(watcher.start())
      #expect(!watcher.start(), "it is watched already")
      watcher.stop()
      #expect(!watcher.start())
      let early = LateWatcher(place.path) {}
      early.stop()
      #expect(!early.start())
    }
  #endif
}
