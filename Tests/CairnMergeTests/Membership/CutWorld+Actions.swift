import CairnMerge

extension CutWorld {
  enum Action: Hashable {
    case write(Int)
    case cut(Int, retiring: Set<DeviceID>)
    case seal(Int, Dot)
    /// Device, index of the delta.
    case receive(Int, Int)
    /// Starts from another one's snapshot.
    case adopt(Int, from: Int)
    case rejoin(Int, Cut)
    case die(Int)
  }

  enum Fault: Error, Hashable, CustomStringConvertible {
    /// A delta was applied that had not seen everything behind the fence.
    case illegalFence(DeviceID, Dot)
    case devicesDisagree
    /// How often the content of a delta is there in the end.
    case content(Dot, times: Int)
    case fenceStandsStill

    var description: String {
      switch self {
      case .illegalFence(let device, let dot): "at \(device) \(dot) has not seen the fence"
      case .devicesDisagree: "devices that have heard of everything disagree"
      case .content(let dot, let times): "the content of \(dot) is there \(times) times"
      case .fenceStandsStill: "all members have spoken, and the fence stands still"
      }
    }
  }

  /// Steps that nobody decides on: they happen sooner or later.
  func inevitable(_ rules: CutRules) -> [Action] {
    var actions: [Action] = []
    for index in devices.indices where !devices[index].isGone {
      let device = devices[index]
      let book = book(index)
      for (number, delta) in deltas.enumerated()
      where mayReceive(delta, device, book, rules) { actions.append(.receive(index, number)) }
      for cut in book.cuts where !cut.isSealed {
        var words = firstWords(cut.dot)
        words[device.id] = device.seen
        if rules.isSealable(cut, device.seen, words) { actions.append(.seal(index, cut.dot)) }
      }
      for delta in deltas {
        guard case .cut(let cut) = delta.kind else { continue }
        for sealed in published(cut) where rules.mustYield(book, sealed, device.seen, words, left) {
          actions.append(.rejoin(index, sealed))
        }
      }
    }
    return actions
  }

  /// Devices that have left their names.
  private var left: Set<DeviceID> { Set(devices.compactMap(\.before)) }

  private func mayReceive(
    _ delta: Delta, _ device: Device, _ book: CutBook, _ rules: CutRules
  ) -> Bool {
    var needed = delta.context
    needed[delta.dot.device] -= 1
    guard !device.seen.contains(delta.dot), device.seen.covers(needed),
      rules.admits(book, delta.dot, delta.context, words)
    else { return false }
    guard case .cut(let cut) = delta.kind else { return true }
    return ([cut] + published(cut)).contains {
      rules.admitsCut($0, device.id, device.seen, words)
    }
  }

  /// What users and chance may do.
  var free: [Action] {
    var actions: [Action] = []
    for index in devices.indices where !devices[index].isGone {
      let device = devices[index]
      if writesLeft > 0 { actions.append(.write(index)) }
      if cutsLeft > 0 {
        actions.append(.cut(index, retiring: []))
        for dot in device.seen.entries where dot.device != device.id {
          actions.append(.cut(index, retiring: [dot.device]))
        }
      }
      if deathsLeft > 0 { actions.append(.die(index)) }
      guard device.seen.isEmpty else { continue }
      for other in devices.indices where !devices[other].seen.isEmpty {
        actions.append(.adopt(index, from: other))
      }
    }
    return actions
  }

  mutating func perform(_ action: Action) throws(Fault) {
    switch action {
    case .write(let index):
      writesLeft -= 1
      commit(index, .write(again: []))
    case .cut(let index, let retiring):
      cutsLeft -= 1
      cut(index, retiring: retiring)
    case .seal(let index, let dot): commit(index, .seal(of: dot))
    case .receive(let index, let number):
      let delta = deltas[number]
      guard delta.context.covers(book(index).fence) else {
        throw .illegalFence(devices[index].id, delta.dot)
      }
      see(delta, index)
    case .adopt(let index, let other):
      devices[index].seen = devices[other].seen
      for cut in devices[other].firstWords.keys {
        devices[index].firstWords[cut] = devices[other].seen
      }
    case .rejoin(let index, let cut): rejoin(index, cut)
    case .die(let index):
      deathsLeft -= 1
      devices[index].isGone = true
      var name: DeviceID? = devices[index].id
      while let known = name {
        died.insert(known)
        name = devices.first { $0.id == known }?.before
      }
    }
  }

  mutating func cut(_ index: Int, retiring: Set<DeviceID>) {
    let proposal = book(index).proposal(
      nextDot(index), seen: devices[index].seen, retiring: retiring)
    commit(index, .cut(proposal))
  }

  // MARK: the end

  /// Lets everything happen that is going to, and has somebody cut off those that are gone, as a
  /// user would. Then all must agree, and every write must be there once.
  mutating func finish(_ rules: CutRules) throws(Fault) {
    try drain(rules)
    for round in 0..<32 where !doAgree {
      let active = devices.indices.filter { !devices[$0].isGone }
      let index = active[round % active.count]
      cut(index, retiring: gone.union(held(at: index)))
      try drain(rules)
    }
    guard doAgree, let index = devices.firstIndex(where: { !$0.isGone }) else {
      if devices.allSatisfy(\.isGone) { return }
      throw .devicesDisagree
    }
    try checkContent(devices[index].seen)
    cut(index, retiring: gone)
    let last = devices[index].seen
    try drain(rules)
    guard doAgree else { throw .devicesDisagree }
    guard book(index).fence.covers(last) else { throw .fenceStandsStill }
  }

  private var gone: Set<DeviceID> { Set(devices.filter(\.isGone).map(\.id)) }

  /// Devices that wrote what is not applied here, or builds on that, although all of it is known.
  private func held(at index: Int) -> Set<DeviceID> {
    Set(deltas.map(\.dot).filter { !devices[index].seen.contains($0) }.map(\.device))
  }

  private mutating func drain(_ rules: CutRules) throws(Fault) {
    var steps = 0
    while let action = inevitable(rules).first {
      try perform(action)
      steps += 1
      if steps > 1000 { throw .devicesDisagree }
    }
  }

  private var doAgree: Bool {
    let seen = devices.filter { !$0.isGone }.map(\.seen)
    return seen.allSatisfy { $0 == seen[0] }
  }

  /// Every write of a device that is still there, or has gone on under another name.
  private func checkContent(_ seen: VersionVector) throws(Fault) {
    var times: [Dot: Int] = [:]
    for delta in deltas {
      guard case .write(let again) = delta.kind else { continue }
      for original in again.isEmpty ? [delta.dot] : again.map({ $0[0] }) {
        times[original, default: 0] += seen.contains(delta.dot) ? 1 : 0
      }
    }
    for (dot, count) in times.sorted(by: { $0.key < $1.key }) where count != 1 {
      // Who died before it was heard of, and was retired, may have taken its last edits along.
      if count == 0, died.contains(dot.device) { continue }
      throw .content(dot, times: count)
    }
  }
}
