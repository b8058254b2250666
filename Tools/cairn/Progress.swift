/// A line on standard error that says how far a long job is; silent unless that is a terminal.
struct Progress {
  private let isShown = Descriptor.isTerminal(Descriptor.standardError)
  private let label: String
  private var shown = ContinuousClock.now - .seconds(1)

  init(_ label: String) { self.label = label }

  mutating func update(_ done: Int, of total: Int) {
    guard isShown, ContinuousClock.now - shown > .milliseconds(100) else { return }
    shown = .now
    let share = total > 0 ? min(100, Int(Double(done) / Double(total) * 100)) : 100
    Console.error("\r\(label): \(share) %\u{1B}[K", newline: false)
  }

  /// Wipes the line.
  func end() {
    if isShown { Console.error("\r\u{1B}[K", newline: false) }
  }
}
