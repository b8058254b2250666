/// What is to be called when something has happened, to be kept behind a lock.
///
/// A lock's value is generic, and a bare closure in it is wrapped in one more adapter each time the
/// lock hands it out: after a million looks a call is a million calls deep. Inside a structure it
/// stays as it is.
package struct Callback: Sendable {
  package var call: (@Sendable () -> Void)?

  package init(_ call: (@Sendable () -> Void)? = nil) {
    self.call = call
  }
}
