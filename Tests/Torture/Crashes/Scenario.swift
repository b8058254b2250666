/// Some work with datastores, in steps that are the same in every run, and how to look at what a
/// crash left of it.
protocol Scenario: Sendable {
  var name: String { get }

  /// All that was committed is durable when a commit returns.
  var isDurable: Bool { get }

  /// Datastores come and go in it, or files of the trash: what a killed process did to one of them
  /// may be undone by a power cut although another one went on.
  var hasComings: Bool { get }

  /// Begins at the first step.
  func begin(_ place: Place, _ recorder: Recorder) throws -> any Life

  /// Opens what is left, checks it, and closes it again.
  func look(_ place: Place) throws -> Look

  /// Opens what is left and commits something, the way any program would after a crash.
  func resume(_ place: Place, _ recorder: Recorder) throws

  /// Goes on working with what is left, and checks that all comes well in the end.
  func goOn(_ place: Place) async throws
}

/// A scenario under way.
protocol Life: AnyObject {
  var stepNames: [String] { get }

  /// One step; one that failed can be tried again, and does nothing twice.
  func perform(_ step: Int) async throws

  /// The hash of what is visible now.
  func content() throws -> UInt64

  /// After an error: makes ready for trying the step again, by opening anew if need be.
  func mend(_ error: any Error) throws

  /// Gives everything back.
  func close() throws
}

/// What was found after a crash.
struct Look: Equatable {
  /// The hash of all that is visible.
  var content: UInt64
  /// Opening had to mend something.
  var hasMended: Bool
  /// What is where, for people.
  var detail = ""
}
