import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// Devices that edit, put, create and remove lists in two fields of one record, and hear of each
/// other late and in any causal order. After every step each one is compared with the reference.
struct ListSimulation {
  static let record = "r"
  static let fields = ["a", "b"]

  /// What happens besides edits of lists.
  struct Style {
    var puts = true
    var deletes = true
    /// Steps of one delta at most.
    var operations = 4
  }

  var random: SeededRandom
  var style: Style
  var replicas: [Replica]
  var deltas: [WireDelta] = []
  var reference = ReferenceFields()
  /// The first thing that was wrong.
  var problem: String?

  init(seed: UInt64, devices: Int? = nil, style: Style = Style()) {
    random = SeededRandom(seed)
    self.style = style
    let count = devices ?? 2 + random.below(4)
    let random = random
    replicas = (1...UInt64(count)).map { Replica($0, time: Int64(random.below(3)) * 5) }
  }

  mutating func note(_ words: String) { problem = problem ?? words }

  mutating func run(steps: Int, afterwards: (inout ListSimulation, Int) -> Void = { _, _ in }) {
    for _ in 0..<steps where problem == nil {
      let index = random.below(replicas.count)
      if random.below(2) == 0 {
        commit(at: index)
      } else {
        for _ in 0...random.below(4) { receive(at: index) }
      }
      if random.below(4) == 0 { reload(index) }
      check(index)
      afterwards(&self, index)
    }
  }

  /// Applies one delta that can be applied; false if there is none.
  @discardableResult mutating func receive(at index: Int) -> Bool {
    guard let delta = deltas.filter(replicas[index].canApply).randomElement(using: &random) else {
      return false
    }
    replicas[index].apply(delta)
    return true
  }

  mutating func deliverEverything() {
    for index in replicas.indices {
      while problem == nil, receive(at: index) { check(index) }
    }
  }

  /// What a compaction does: the device goes on with what was read back.
  mutating func reload(_ index: Int) {
    guard let state = replicas[index].records[Self.record] else { return }
    guard let copy = state.reloaded else { return note("a state does not decode") }
    if copy != state { note("a state reads back as another one") }
    replicas[index].records[Self.record] = copy
  }

  mutating func check(_ index: Int) {
    let replica = replicas[index]
    let state = replica.state(Self.record)
    let view = reference.view(Self.record, Self.fields, seen: replica.horizon.seen)
    if state.exists != view.exists { note("exists: \(state.exists)") }
    for field in Self.fields {
      for rule in Rule.allCases {
        let (mine, right) = (state.visible(field, rule: rule), view.visible(field, rule: rule))
        if mine != right {
          note("\(field) \(rule): \(String(describing: mine)), not \(String(describing: right))")
        }
      }
      for list in state.register(field).lists where !list.isRightSize { note("a size is wrong") }
    }
    if state.reloaded?.isInTreeOrder != true { note("a list reads back in another order") }
  }

  // MARK: commits

  mutating func commit(at index: Int) {
    var replica = replicas[index]
    replica.time += 1
    let dot = Dot(device: replica.device, sequence: replica.horizon.seen[replica.device] + 1)
    var work = ListWork(
      stamp: Stamp(dot: dot, time: replica.time), replica: replica,
      view: reference.view(Self.record, Self.fields, seen: replica.horizon.seen))
    if style.deletes, work.state.exists, random.below(24) == 0 { work.delete() }
    if !work.state.exists, !work.isDeleted || random.coin() { work.insert() }
    if work.state.exists {
      for field in Self.fields.shuffled(using: &random).prefix(1 + random.below(2)) {
        write(field, &work)
      }
    }
    if let problem = work.problem { note(problem) }
    if work.part.changes.isEmpty { return }
    let delta = WireDelta(stamp: work.stamp, context: work.context, parts: [work.part])
    replica.apply(delta)
    if replica.state(Self.record) != work.state { note("a commit is not what others get") }
    replicas[index] = replica
    deltas.append(delta)
    reference.add(
      ReferenceDelta(stamp: work.stamp, context: work.context, steps: work.steps),
      created: work.created, edits: work.edits)
  }

  private mutating func write(_ field: String, _ work: inout ListWork) {
    let rule = Rule.allCases.randomElement(using: &random) ?? .remote
    let visible = work.state.visible(field, rule: rule)
    if style.puts, random.below(10) == 0 {
      let values: [FieldValue?] = [nil, .int(3), .double(0.5), .list([]), .list(items(3))]
      return work.put(values[random.below(values.count)], field)
    }
    switch visible {
    case .list: edit(field, rule, &work)
    case nil: work.create(items(3), field)
    default: work.put(.list(items(4)), field)
    }
  }

  private mutating func edit(_ field: String, _ rule: Rule, _ work: inout ListWork) {
    var register = work.state.register(field)
    guard let index = register.openVisible(rule),
      let list = work.view.visibleList(field, rule: rule)
    else { return note("a list that is visible can't be edited") }
    let fresh = ReferenceDraft(list, stamp: work.stamp, context: work.context)
    var draft = fresh
    let before = register.lists[index]
    for _ in 0...random.below(style.operations) {
      step(&register.lists[index], &draft)
      if register.lists[index].isRightSize == false { return note("a pending size is wrong") }
      if random.below(16) == 0 {
        register.lists[index].rollBack()
        draft = fresh
        if register.lists[index] != before || !register.lists[index].isRightSize {
          return note("something is left of what was taken back")
        }
      }
    }
    let values = register.lists[index].values(rule)
    let edit = register.lists[index].collect()
    let right = draft.edit()
    guard let edit else {
      if right != nil { note("an edit was lost") }
      return
    }
    if right == nil { return note("an edit that does nothing") }
    if !edit.isSmall { note("an edit with something superfluous") }
    work.commit(edit, right, field, register, index)
    // An edit may make another list the greatest one.
    let mayLose = (rule == .max || rule == .min) && register.entries.count > 1
    if work.problem == nil, !mayLose, work.state.visible(field, rule: rule) != .list(values) {
      note("a commit changes what is visible")
    }
  }

  private func step(_ list: inout ListState, _ draft: inout ReferenceDraft) {
    let count = list.count
    switch count == 0 ? 0 : random.below(9) {
    case 0...2:
      let index = random.below(count + 1)
      let values = items(random.below(4) == 0 ? 3 : 1)
      if values.count == 1 {
        list.insert(values[0], at: index)
      } else {
        list.insert(values, at: index)
      }
      for (offset, value) in values.enumerated() { draft.insert(value, at: index + offset) }
    case 3, 4:
      let index = random.below(count)
      list.remove(at: index)
      draft.remove(at: index)
    case 5, 6:
      let (index, value) = (random.below(count), items(1)[0])
      list.replace(at: index, with: value)
      draft.replace(at: index, with: value)
    default:
      let (source, target) = (random.below(count), random.below(count))
      list.move(from: source, to: target)
      draft.move(from: source, to: target)
      if random.below(3) == 0 {
        list.move(from: target, to: source)
        draft.move(from: target, to: source)
      }
    }
  }

  private func items(_ count: Int) -> [FieldValue] {
    (0..<count).map { _ in
      switch random.below(8) {
      case 0: .string("é")
      case 1: .string(String(repeating: "x", count: random.below(4)))
      case 2: .bytes(random.bytes(2))
      case 3: .double(.nan)
      case 4: .bool(true)
      default: .int(Int64(random.below(90)))
      }
    }
  }
}
