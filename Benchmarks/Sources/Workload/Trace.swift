import Glibc

/// A recording of people who write a text, keystroke by keystroke. See `traces/ORIGIN.md`.
public struct Trace {
  /// What a transaction does at one place; two of them make one transaction now and then.
  public struct Patch {
    public var position: Int
    public var deleted: Int
    public var inserted: [UInt8]
    /// It belongs to the transaction of the patch before.
    public var continues: Bool
  }

  /// Transactions that one person made one after the other.
  public struct Turn {
    public var person: Int
    /// For each person the number of the last transaction, all people's counted, that is known
    /// when the turn begins; -1 if none.
    public var known: [Int]
    public var transactions: Range<Int>
  }

  public private(set) var people = 0
  public private(set) var turns: [Turn] = []
  public private(set) var patches: [Patch] = []
  /// The first patch of each transaction.
  public private(set) var starts: [Int] = []
  /// What all end with.
  public private(set) var text: [UInt8] = []

  private var cursor = 0

  /// Reads a file of the directory that the environment names.
  public init?(_ name: String) {
    guard let directory = getenv("CAIRN_TRACES"),
      let bytes = Files.content(String(cString: directory) + "/" + name + ".trace")
    else { return nil }
    for line in bytes.split(separator: UInt8(ascii: "\n")) { add(line) }
    if !turns.isEmpty { closeTurn() }
  }

  private mutating func add(_ line: ArraySlice<UInt8>) {
    guard let kind = line.first else { return }
    let rest = line.dropFirst()
    switch kind {
    case UInt8(ascii: "@"): begin(rest)
    case UInt8(ascii: "+"):
      for byte in Trace.plain(rest) {
        step(Patch(position: cursor, deleted: 0, inserted: [byte], continues: false))
      }
    case UInt8(ascii: "-"):
      for _ in 0..<Trace.numbers(rest)[0] {
        step(Patch(position: cursor - 1, deleted: 1, inserted: [], continues: false))
      }
    case UInt8(ascii: "="), UInt8(ascii: "&"):
      let parts = rest.split(
        separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
      step(
        Patch(
          position: Trace.numbers(parts[0])[0], deleted: Trace.numbers(parts[1])[0],
          inserted: Trace.plain(parts[2]), continues: kind == UInt8(ascii: "&")))
    case UInt8(ascii: "."): text = Trace.plain(rest)
    default: people = Trace.numbers(line)[0]
    }
  }

  private mutating func begin(_ rest: ArraySlice<UInt8>) {
    if !turns.isEmpty { closeTurn() }
    let numbers = Trace.numbers(rest)
    var known = [Int](repeating: -1, count: people)
    for parent in numbers.dropFirst() {
      // What a turn began with, all its transactions know too.
      let turn = turns[turnOf(parent)]
      for person in 0..<people { known[person] = max(known[person], turn.known[person]) }
      known[turn.person] = max(known[turn.person], parent)
    }
    let none = starts.count..<starts.count
    turns.append(Turn(person: numbers[0], known: known, transactions: none))
  }

  private func turnOf(_ transaction: Int) -> Int {
    var (low, high) = (0, turns.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      let isAfter = turns[middle].transactions.lowerBound > transaction
      if isAfter { high = middle } else { low = middle }
    }
    return low
  }

  private mutating func closeTurn() {
    let last = turns.count - 1
    turns[last].transactions = turns[last].transactions.lowerBound..<starts.count
  }

  private mutating func step(_ patch: Patch) {
    if !patch.continues { starts.append(patches.count) }
    patches.append(patch)
    cursor = patch.position + patch.inserted.count
  }

  /// The patches of a transaction.
  public func patches(of transaction: Int) -> ArraySlice<Patch> {
    let end = transaction + 1 < starts.count ? starts[transaction + 1] : patches.count
    return patches[starts[transaction]..<end]
  }

  private static func numbers(_ text: ArraySlice<UInt8>) -> [Int] {
    text.split(separator: UInt8(ascii: " ")).map { digits in
      digits.reduce(0) { $0 * 10 + Int($1) - 48 }
    }
  }

  private static func plain(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var isEscaped = false
    for byte in text {
      if isEscaped {
        result.append(byte == UInt8(ascii: "n") ? 10 : byte)
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else {
        result.append(byte)
      }
    }
    return result
  }
}
