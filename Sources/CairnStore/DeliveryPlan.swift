import CairnBytes
import CairnMerge

/// Causal delivery on vectors alone: which deltas of which packs can be applied. Everything is
/// decoded, so that a pack with wrong bytes is found out before anything of it counts.
struct DeliveryPlan {
  /// Why nothing more of a device is applied.
  enum HeldDevice {
    /// A cut that it has not seen, applied here or not.
    case beside(Dot)
    /// It builds on what is held of another one.
    case behind(DeviceID)
  }

  /// What of one delta decides whether it can be applied.
  struct Step {
    var dot: Dot
    var dependencies: [Dot]
    var news: CutTable.News?
  }

  struct Result {
    /// For each pack the last sequence to be applied, 0 for none.
    var last: [UInt64]
    var failures: [Int: DecodeError] = [:]
    /// Deletes that the applied deltas state, in the order of the packs.
    var deletes: [PlannedDelete] = []
    /// Packs that wait for nothing but a cut, and which.
    var held: [Int: Cut] = [:]
    /// Packs of which a delta can't be what it says, and why: it and what follows stay out.
    var refused: [Int: String] = [:]
    /// Authors of deltas that a cut keeps out, or that build on such.
    var heldDevices: [DeviceID: HeldDevice] = [:]
    /// The cut that this device has to give way to.
    var cutOff: Cut?
    /// Something in the packs is about cuts.
    var hasCuts = false
    /// What is known of cuts that are not applied.
    var rumours = CutRumours()
  }

  private var vector: VersionVector
  private var gate: DeliveryGate
  private var packs: [Pending] = []
  private(set) var failures: [Int: DecodeError] = [:]

  /// A pack, decoded, and how far it was applied.
  struct Pending {
    var index: Int
    var device: DeviceID
    var steps: [Step] = []
    var deletes: [PlannedDelete] = []
    var next = 0
    var last: UInt64 = 0
    var held: Cut?
    var refused: String?

    init(_ bytes: [UInt8], _ index: Int) throws(DecodeError) {
      var reader = try PackReader(bytes)
      (self.index, device) = (index, reader.header.device)
      var delta = Delta()
      while try reader.next(into: &delta) {
        // Positions mean nothing where others write, too.
        guard delta.splices.isEmpty else { throw .malformed("positions in a shared list") }
        var step = Step(dot: delta.dot, dependencies: delta.dependencies)
        if delta.sections.contains(where: { $0.table == CutTable.name }) {
          let news = CutTable.News(delta, heap: reader.heap, names: reader.records)
          if let failure = news.failure { throw failure }
          step.news = news
        }
        steps.append(step)
        PlannedDelete.add(of: delta, names: reader.records, to: &deletes)
      }
    }
  }

  private let before: VersionVector

  init(vector: VersionVector, gate: DeliveryGate) {
    (self.vector, before) = (vector, vector)
    self.gate = gate
  }

  mutating func add(_ bytes: [UInt8], _ index: Int) {
    do throws(DecodeError) {
      let pack = try Pending(bytes, index)
      for news in pack.steps.compactMap(\.news) { gate.note(news) }
      packs.append(pack)
    } catch { failures[index] = error }
  }

  mutating func run() -> Result {
    noteCuts()
    while true {
      if advanceAll(withCuts: false) { continue }
      // One cut at a time: what it lets through comes before the next one.
      if !advanceAll(withCuts: true) { break }
    }
    var result = Result(last: [UInt64](repeating: 0, count: packs.count + failures.count))
    result.failures = failures
    for pack in packs {
      result.last[pack.index] = pack.last
      if let cut = pack.held { result.held[pack.index] = cut }
      if let reason = pack.refused { result.refused[pack.index] = reason }
      // A step that was here already deletes nothing again.
      result.deletes += pack.deletes.filter {
        $0.dot.sequence <= pack.last && !before.contains($0.dot)
      }
    }
    result.hasCuts = gate.hasNews
    result.rumours.left = gate.rumours.left
    if gate.isOpen { return result }
    result.rumours = gate.rumours
    result.rumours.drop(seen: vector)
    result.heldDevices = heldDevices()
    result.cutOff = gate.cutOff(seen: vector)
    return result
  }

  /// All cuts and seals that are here, applied or not.
  private mutating func noteCuts() {
    if gate.isOpen { return }
    for pack in packs { gate.noteCuts(pack.steps) }
    gate.lookAhead(seen: vector)
  }

  /// Everything that goes, or one cut. Returns whether that was anything.
  private mutating func advanceAll(withCuts: Bool) -> Bool {
    var hasProgress = false
    for index in packs.indices where advance(index, withCuts: withCuts) {
      if withCuts { return true }
      hasProgress = true
    }
    return hasProgress
  }

  private mutating func advance(_ index: Int, withCuts: Bool) -> Bool {
    var hasProgress = false
    (packs[index].held, packs[index].refused) = (nil, nil)
    while packs[index].next < packs[index].steps.count {
      let step = packs[index].steps[packs[index].next]
      if !vector.contains(step.dot) {
        guard vector[step.dot.device] + 1 == step.dot.sequence,
          step.dependencies.allSatisfy(vector.contains)
        else { break }
        var isCut = false
        if !gate.isOpen {
          switch gate.answer(step, seen: vector) {
          case .pass: break
          case .passLast:
            if !withCuts { return hasProgress }
            isCut = true
          case .hold(let cut):
            packs[index].held = cut
            return hasProgress
          case .refuse(let reason):
            packs[index].refused = "delta \(step.dot.sequence) can't be: \(reason)"
            return hasProgress
          }
          gate.apply(step)
        }
        vector.insert(step.dot)
        packs[index].last = step.dot.sequence
        hasProgress = true
        if isCut { return true }
      }
      packs[index].next += 1
    }
    return hasProgress
  }

  private func heldDevices() -> [DeviceID: HeldDevice] {
    var held: [DeviceID: HeldDevice] = [:]
    for pack in packs {
      if let cut = pack.held { held[pack.device] = .beside(cut.dot) }
    }
    var hasProgress = !held.isEmpty
    while hasProgress {
      hasProgress = false
      for pack in packs where pack.next < pack.steps.count && held[pack.device] == nil {
        let before = pack.steps[pack.next].dependencies.first {
          held[$0.device] != nil && !vector.contains($0)
        }
        guard let before else { continue }
        held[pack.device] = .behind(before.device)
        hasProgress = true
      }
    }
    return held
  }
}
