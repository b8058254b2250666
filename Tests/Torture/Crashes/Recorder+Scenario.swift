import TestSupport

extension Recorder {
  /// The scenario as it goes when nothing happens.
  static func record(
    _ scenario: some Scenario, seed: UInt64, variant: UInt64
  ) async throws -> Recorder {
    let place = Place(seed: seed &* 1000 &+ variant, variant: variant)
    let recorder = Recorder(place)
    recorder.watch()
    let life = try scenario.begin(place, recorder)
    for step in life.stepNames.indices {
      do { try await life.perform(step) } catch {
        throw TortureFailure(
          "\(scenario.name), variant \(variant): step \(step) (\(life.stepNames[step])) fails by "
            + "itself: \(error)")
      }
      recorder.endStep()
    }
    try life.close()
    recorder.endStep()
    recorder.stop()
    if let failure = recorder.failure {
      throw TortureFailure("\(scenario.name), variant \(variant): \(failure)")
    }
    return recorder
  }
}
