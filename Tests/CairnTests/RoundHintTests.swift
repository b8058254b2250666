import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What makes rounds in the background come soon.
@Suite(.timeLimit(.minutes(20))) struct RoundHintTests {
  private let rounds = Shared(0)
  private var count: Int { rounds.withLock { $0 } }

  private func until(_ number: Int) async {
    while count < number { await Task.yield() }
  }

  @Test func `after an idle spell the next look is soon once something has moved`() async {
    let isMoving = Flag()
    let background = BackgroundRounds(watching: nil, pollSeconds: 0.01...3600) { [rounds] in
      rounds.withLock { $0 += 1 }
      return isMoving.isUp ? .moved : .idle
    }
    // Each doubles the pause.
    for number in 1...24 {
      await until(number)
      background.hint()
    }
    isMoving.raise()
    let before = count
    background.hint()
    // The clock alone brings all but two of them.
    await until(before + 6)
    background.stop()
  }

  @Test func `who wants no clock gets none, and hints bring rounds`() async {
    let never = Double.infinity...Double.infinity
    let background = BackgroundRounds(watching: nil, pollSeconds: never) { [rounds] in
      rounds.withLock { $0 += 1 }
      return .idle
    }
    for number in 1...3 {
      await until(number)
      background.hint()
    }
    await until(4)
    background.stop()
  }

  @Test func `nothing goes off that was set again or stopped`() async throws {
    let timer = RoundTimer { [rounds] in rounds.withLock { $0 += 1 } }
    timer.set(seconds: 3600)
    timer.set(seconds: 0.01)
    await until(1)
    timer.set(seconds: 2)
    timer.stop()
    timer.set(seconds: 0)
    try await Task.sleep(for: .seconds(2.5))
    #expect(count == 1)
  }

  @Test func `where nothing is to be watched nothing is`() {
    let watcher = LateWatcher(nil) {}
    #expect(!watcher.start())
    let elsewhere = LateWatcher("/there is no such directory") {}
    #expect(!elsewhere.start())
    elsewhere.stop()
    #expect(!elsewhere.start())
  }

  #if os(Linux)
    @Test func `a directory that comes to be in a round is watched from then on`() async throws {
      let place = try TemporaryDirectory()
      let directory = place.path("late")
      let background = BackgroundRounds(watching: directory, pollSeconds: 3600...3600) {
        [rounds] in
        do { try PosixDisk().createDirectory(directory) } catch { Issue.record(error) }
        rounds.withLock { $0 += 1 }
        return .idle
      }
      // One more: what has come before it was watched was not seen.
      await until(2)
      try PosixDisk().createDirectory(directory + "/news")
      await until(3)
      background.stop()
    }

    enum Loss: CaseIterable { case removed, renamed }

    @Test(arguments: Loss.allCases)
    func `a directory that goes and comes back is watched again`(loss: Loss) async throws {
      let place = try TemporaryDirectory()
      let disk = PosixDisk()
      let directory = place.path("watched")
      try disk.createDirectory(directory)
      let watcher = LateWatcher(directory) { [rounds] in rounds.withLock { $0 += 1 } }
      #expect(watcher.start())
      #expect(!watcher.start())
      switch loss {
      case .removed: try disk.removeTree(directory)
      case .renamed:
        try disk.rename(directory, to: place.path("elsewhere"))
        try disk.createDirectory(place.path("elsewhere/more"))
      }
      await until(1)
      #expect(!watcher.start(), "there is nothing to be watched")
      try disk.createDirectory(directory)
      try #require(watcher.start())
      #expect(!watcher.start())
      let before = count
      try disk.createDirectory(directory + "/news")
      await until(before + 1)
      watcher.stop()
    }

    @Test func `who has created a datastore hears of others without waiting for the clock`()
      async throws
    {
      let bench = try FolderWorkbench()
      bench.options.pollSeconds = 3600...3600
      let a = try bench.open("a")
      try a.add("a")
      try a.startExchanging()
      for await status in a.statusChanges where !status.uploading && !status.downloading { break }
      let b = try await bench.publisher("b")
      for await status in a.statusChanges where status.incoming { break }
      try a.sync()
      #expect(try a.ids() == ["a", "b"])
      try a.close()
      try b.close()
    }

    @Test func `who has begun a list hears of others without waiting for the clock`() async throws {
      let bench = try FolderWorkbench()
      bench.options.pollSeconds = 3600...3600
      let (a, b) = (try bench.manager("a"), try bench.manager("b"))
      try a.openOrCreateDatastore("n").close()
      try a.startExchanging { [rounds] _ in rounds.withLock { $0 += 1 } }
      await until(1)
      try b.openOrCreateDatastore("m").close()
      try await b.refresh()
      for await list in a.datastoreChanges where Set(list.map(\.id)) == ["m", "n"] { break }
      try a.shutDown()
      try b.shutDown()
    }
  #endif
}
