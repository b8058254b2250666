import Cairn

/// What is beside a pull while it runs: a display of its progress, and the user's wish to end it.
enum PullDisplay {
  static func run<Changes: AsyncSequence & Sendable>(
    _ label: String, _ changes: Changes,
    _ update: @escaping @Sendable (inout Progress, Changes.Element) -> Void,
    abort: @escaping @Sendable () -> Void, _ body: () async throws -> Void
  ) async throws where Changes.Failure == Never {
    let interruption = Interruption()
    let wishes = interruption.wishes
    let stopper = Task { for await _ in wishes { abort() } }
    let display = Task {
      var progress = Progress(label)
      for await change in changes { update(&progress, change) }
      progress.end()
    }
    let result: Result<Void, any Error>
    do {
      try await body()
      result = .success(())
    } catch { result = .failure(error) }
    display.cancel()
    stopper.cancel()
    await display.value
    withExtendedLifetime(interruption) {}
    try result.get()
  }
}
