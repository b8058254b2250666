import Cairn

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

  /// How far transfers are, both ways: a bar, files and bytes.
  mutating func update(_ progress: TransferProgress) {
    guard isShown, ContinuousClock.now - shown > .milliseconds(100), !progress.isIdle else {
      return
    }
    shown = .now
    Console.error("\r\(label) \(Progress.text(progress))\u{1B}[K", newline: false)
  }

  /// `[#####···············] 3 of 12 files, 25 %`
  static func text(_ progress: TransferProgress) -> String {
    let (fetched, published) = (progress.fetched, progress.published)
    let done = Double(fetched.bytes) + Double(published.bytes)
    let total = Double(fetched.totalBytes) + Double(published.totalBytes)
    let share = total > 0 ? min(1, done / total) : 1
    let width = 20
    let full = Int(share * Double(width))
    let bar = String(repeating: "#", count: full) + String(repeating: "·", count: width - full)
    let files = "\(fetched.files + published.files) of "
      + "\(fetched.totalFiles + published.totalFiles) files"
    return "[\(bar)] \(files), \(Int(share * 100)) %"
  }

  /// Wipes the line.
  func end() {
    if isShown { Console.error("\r\u{1B}[K", newline: false) }
  }
}
