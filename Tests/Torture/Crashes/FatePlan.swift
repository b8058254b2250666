import TestSupport

/// Which of the things that a power cut may leave are looked at: nothing of what was not synced,
/// all of it, every subset where there are few changes, and else those that take one change more
/// or less or all up to one, and random ones; and parts of single writes.
struct FatePlan {
  typealias Fate = MemoryDiskMoment.Fate

  /// Up to so many changes all subsets are taken.
  var changes: Int
  /// Random subsets beyond.
  var samples: Int
  /// Parts taken of each write.
  var parts: Int

  func fates(_ pending: [MemoryDiskMoment.Pending], _ random: SeededRandom) -> [[Fate]] {
    let count = pending.count
    if count == 0 { return [[]] }
    var result = count <= changes ? subsets(count) : chosen(count, random)
    for (index, change) in pending.enumerated() {
      guard case .write(_, let length) = change else { continue }
      // The newest writes are the likely ones; of the others fewer parts.
      let wanted = index >= count - 3 ? parts : max(1, parts / 4)
      for number in 0..<wanted {
        var fates = around(count, number, random)
        fates[index] = part(change, length, number, random)
        result.append(fates)
      }
    }
    return result
  }

  private func subsets(_ count: Int) -> [[Fate]] {
    (0..<(1 << count)).map { bits in
      (0..<count).map { bits >> $0 & 1 == 1 ? .kept : .lost }
    }
  }

  private func chosen(_ count: Int, _ random: SeededRandom) -> [[Fate]] {
    var result: [[Fate]] = (0...count).map { kept in
      (0..<count).map { $0 < kept ? .kept : .lost }
    }
    for one in 0..<count {
      result.append((0..<count).map { $0 == one ? .kept : .lost })
      result.append((0..<count).map { $0 == one ? .lost : .kept })
    }
    for _ in 0..<samples { result.append((0..<count).map { _ in random.coin() ? .kept : .lost }) }
    return result
  }

  /// What becomes of the other changes.
  private func around(_ count: Int, _ number: Int, _ random: SeededRandom) -> [Fate] {
    switch number % 3 {
    case 0: [Fate](repeating: .kept, count: count)
    case 1: [Fate](repeating: .lost, count: count)
    default: (0..<count).map { _ in random.coin() ? .kept : .lost }
    }
  }

  private func part(
    _ change: MemoryDiskMoment.Pending, _ length: Int, _ number: Int, _ random: SeededRandom
  ) -> Fate {
    let sectors = change.sectors
    if sectors > 1, number % 2 == 0 {
      return .sectors((0..<sectors).map { _ in random.coin() }, grows: random.coin())
    }
    if number == 1 { return .prefix(length - 1) }
    if sectors == 1, number == 0 { return .sectors([false], grows: true) }
    return .prefix(1 + random.below(max(1, length - 1)))
  }
}
