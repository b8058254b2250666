extension Register {
  /// The write that makes `value` visible when a device sets it under a rule; `dot` names the delta
  /// that the write will be part of.
  ///
  /// Under `sum`, a number over a number or an absent field adds the difference, so that
  /// concurrent additions add up; an absent field counts as the integer 0. Everything else is a
  /// plain put.
  package func write(_ value: FieldValue?, rule: Rule, dot: Dot) -> Write {
    if rule == .sum, let value, let number = Number(value),
      let add = addition(of: number, dot: dot)
    {
      return add
    }
    return .put(value, covered: covered)
  }

  /// The write that begins a list in an absent field.
  package func create(_ items: [FieldValue]) -> Write { .create(items, covered: covered) }

  /// The difference is taken to the sum and not to the visible value. The two are the same but for
  /// rounding and for survivors that are no numbers, and then the sum comes out right from here on.
  private func addition(of number: Number, dot: Dot) -> Write? {
    if let visible = visible(.sum), Number(visible) == nil { return nil }
    guard let sum else { return nil }
    let previous = totals.first { $0.device == dot.device }
    let total = (previous?.total ?? .zero).adding(number.subtracting(sum))
    // An overflow to infinity could never be taken back by later additions.
    guard total.isFinite else { return nil }
    return .add(result: number.value, total: total, since: previous?.since ?? dot.sequence)
  }

  /// What a plain put made now has seen of each device's additions: the totals that are here, and
  /// what the bases had seen. A device that has not seen those bases may go on counting from it.
  private var covered: [RunningTotal] {
    var latest: [DeviceID: RunningTotal] = [:]
    for running in bases.flatMap(\.covered)
    where running.last > latest[running.device]?.last ?? 0 {
      latest[running.device] = running
    }
    for total in totals {
      latest[total.device] = RunningTotal(
        device: total.device, last: total.stamp.dot.sequence, total: total.total)
    }
    return latest.values.sorted { $0.device < $1.device }
  }
}
