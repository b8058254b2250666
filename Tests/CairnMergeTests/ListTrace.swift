import TestSupport

/// A recording of people who write one text at the same time, as `Traces/ORIGIN.md` describes it.
struct ListTrace {
  struct Patch {
    var position: Int
    var deleted: Int
    var inserted: [UInt8]
  }

  struct Transaction {
    var agent: Int
    var parents: [Int]
    var patches: [Patch]
  }

  private(set) var agents = 0
  private(set) var transactions: [Transaction] = []
  private(set) var end: [UInt8] = []
  private var cursor = 0
  private var agent = 0
  private var parents: [Int] = []

  init(_ name: String) throws {
    let bytes = try ProjectFile.bytes("Tests/CairnMergeTests/Traces/\(name).trace")
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let rest = line.dropFirst()
      switch line.first {
      case UInt8(ascii: "@"):
        let numbers = Self.numbers(rest)
        (agent, parents) = (numbers[0], Array(numbers.dropFirst()))
      case UInt8(ascii: "+"):
        for byte in Self.text(rest) { add(Patch(position: cursor, deleted: 0, inserted: [byte])) }
      case UInt8(ascii: "-"):
        for _ in 0..<Self.numbers(rest)[0] {
          add(Patch(position: cursor - 1, deleted: 1, inserted: []))
        }
      case UInt8(ascii: "="): add(Self.patch(rest))
      case UInt8(ascii: "&"):
        let patch = Self.patch(rest)
        transactions[transactions.count - 1].patches.append(patch)
        cursor = patch.position + patch.inserted.count
      case UInt8(ascii: "."): end = Self.text(rest)
      default: agents = Self.numbers(line)[0]
      }
    }
  }

  private mutating func add(_ patch: Patch) {
    transactions.append(Transaction(agent: agent, parents: parents, patches: [patch]))
    parents = [transactions.count - 1]
    cursor = patch.position + patch.inserted.count
  }

  private static func patch(_ line: ArraySlice<UInt8>) -> Patch {
    let parts = line.split(
      separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    return Patch(
      position: numbers(parts[0])[0], deleted: numbers(parts[1])[0], inserted: text(parts[2]))
  }

  private static func numbers(_ line: ArraySlice<UInt8>) -> [Int] {
    line.split(separator: UInt8(ascii: " ")).map { digits in
      digits.reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) }
    }
  }

  private static func text(_ line: ArraySlice<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    var isEscaped = false
    for byte in line {
      if isEscaped {
        text.append(byte == UInt8(ascii: "n") ? UInt8(ascii: "\n") : byte)
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else {
        text.append(byte)
      }
    }
    return text
  }
}
