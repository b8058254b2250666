/// What a programme did: figures that it prints when it ends, and the faults that it had to take.
struct Ledger {
  private(set) var figures: [(name: String, value: Int)] = []
  private var faults: [(name: String, taken: Int)] = []
  private let start = ContinuousClock.now
  let programme: String

  init(_ programme: String) { self.programme = programme }

  /// Adds to a figure; one that is new comes last.
  mutating func count(_ name: String, _ number: Int = 1) {
    if let place = figures.firstIndex(where: { $0.name == name }) {
      figures[place].value += number
    } else {
      figures.append((name, number))
    }
  }

  subscript(_ name: String) -> Int { figures.first { $0.name == name }?.value ?? 0 }

  /// Faults that this run has to take at least once each.
  mutating func expect(_ names: [String]) {
    for name in names where !faults.contains(where: { $0.name == name }) {
      faults.append((name, 0))
    }
  }

  /// A fault was taken.
  mutating func took(_ name: String, _ number: Int = 1) {
    if let place = faults.firstIndex(where: { $0.name == name }) {
      faults[place].taken += number
    } else {
      faults.append((name, number))
    }
  }

  /// Faults that were expected and never taken.
  var missing: [String] { faults.filter { $0.taken == 0 }.map(\.name) }

  mutating func merge(_ other: Ledger) {
    for figure in other.figures { count(figure.name, figure.value) }
    for fault in other.faults { took(fault.name, fault.taken) }
  }

  /// Prints everything, with rates by second for the figures named. Throws if a fault is missing.
  func close(rates: [String] = []) throws(TortureFailure) {
    let duration = (ContinuousClock.now - start).components
    let seconds = Double(duration.seconds) + Double(duration.attoseconds) / 1e18
    for figure in figures {
      let rate = rates.contains(figure.name) && seconds > 0
        ? " (\(Int((Double(figure.value) / seconds).rounded())) a second)" : ""
      print("\(programme): \(figure.name) \(figure.value)\(rate)")
    }
    for fault in faults { print("\(programme): fault \(fault.name) \(fault.taken)") }
    print("\(programme): seconds \(Int(seconds.rounded()))")
    guard missing.isEmpty else {
      throw TortureFailure("faults that were never taken: \(missing.joined(separator: ", "))")
    }
  }
}
