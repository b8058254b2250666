import Cairn

#if CAIRN_SERVERS
  import CairnCouchDB
#endif

/// A line on standard error that says how far a long job is; silent unless that is a terminal.
struct Progress {
  private let isShown = Descriptor.isTerminal(Descriptor.standardError)
  private let label: String
  private var shown = ContinuousClock.now - .seconds(1)
  /// The line says that nothing moves.
  private var saysStalled = false

  init(_ label: String) { self.label = label }

  mutating func update(_ done: Int, of total: Int) {
    guard isDue() else { return }
    let share = total > 0 ? min(100, Int(Double(done) / Double(total) * 100)) : 100
    Console.error("\r\(label): \(share) %\u{1B}[K", newline: false)
  }

  /// How far transfers are, both ways: a bar, files and bytes.
  mutating func update(_ progress: TransferProgress) {
    guard !progress.isIdle || progress.isStalled else {
      // What is asked before anything is on its way has been answered.
      if saysStalled { end() }
      saysStalled = false
      return
    }
    guard isDue() else { return }
    saysStalled = progress.isStalled
    Console.error("\r\(label) \(Progress.text(progress))\u{1B}[K", newline: false)
  }

  /// `[#####···············] 3 of 12 files, 25 %`, and whether nothing moves.
  static func text(_ progress: TransferProgress) -> String {
    let stalled = "stalled: the server is asked again"
    // Of a listing nobody knows how long it is.
    if progress.isIdle { return stalled }
    let (fetched, published) = (progress.fetched, progress.published)
    let done = Double(fetched.bytes) + Double(published.bytes)
    let total = Double(fetched.totalBytes) + Double(published.totalBytes)
    let share = total > 0 ? min(1, done / total) : 1
    let files =
      "\(fetched.files + published.files) of "
      + "\(fetched.totalFiles + published.totalFiles) files"
    let stall = progress.isStalled ? ", \(stalled)" : ""
    return "[\(bar(share))] \(files), \(Int(share * 100)) %\(stall)"
  }

  private static func bar(_ share: Double) -> String {
    let width = 20
    let full = Int(max(0, min(1, share)) * Double(width))
    return String(repeating: "#", count: full) + String(repeating: "·", count: width - full)
  }

  /// Whether anybody looks, and the last time was a while ago.
  private mutating func isDue() -> Bool {
    guard isShown, ContinuousClock.now - shown > .milliseconds(100) else { return false }
    shown = .now
    return true
  }

  /// Wipes the line.
  func end() {
    if isShown { Console.error("\r\u{1B}[K", newline: false) }
  }
}

#if CAIRN_SERVERS
  extension Progress {
    /// How far a pull is: a bar, documents, attachments and bytes.
    mutating func update(_ progress: CouchDBProgress) {
      guard progress.isRunning, isDue() else { return }
      Console.error("\r\(label) \(Progress.text(progress))\u{1B}[K", newline: false)
    }

    /// `[##··················] 12 of 120 documents, 0 of 3 attachments, 5120 bytes`
    static func text(_ progress: CouchDBProgress) -> String {
      let (documents, attachments) = (progress.documents, progress.attachments)
      return "[\(bar(progress.fraction))] \(documents.done) of \(documents.total) documents, "
        + "\(attachments.done) of \(attachments.total) attachments, \(progress.bytes) bytes"
    }
  }
#endif
