internal import CairnBytes
internal import CairnLog
internal import CairnMerge

/// Files under this device's name in the folder that go on behind what it knows to have published.
/// Kept from round to round, as a listing may lack some of them.
struct OwnPast: Sendable {
  struct File: Sendable {
    var segment: Head.Segment
    var before: UInt128
    /// After each delta.
    var chains: [UInt128]

    /// The chain after a delta, or before the first one; nil if it is not known from this file.
    func chain(at sequence: UInt64) -> UInt128? {
      if sequence + 1 == segment.first { return before }
      guard sequence >= segment.first, sequence <= segment.last else { return nil }
      return chains[Int(sequence - segment.first)]
    }
  }

  /// Those that were read, by name.
  var files: [String: File] = [:]
  /// For how many rounds it has not been certain that nothing else was published.
  var rounds = 0

  /// What the files tell.
  struct Reach: Sendable {
    /// What another copy of this device has published, or this one before it was restored: files
    /// that go on from the own head with deltas that are not here.
    var isBeyond = false
    /// Two copies have done so, each with deltas of its own.
    var isAmbiguous = false
    /// The own head with all that the files say was published since.
    var head: Head
  }

  /// - Parameter own: The head as it is known here.
  /// - Parameter ours: The chains after own deltas that are here, as far as they are known.
  func reach(from own: Head, ours: [UInt64: UInt128]) -> Reach {
    let linked = linked(to: own)
    let others = linked.filter { ours[$0.segment.last] != $0.chains.last }
    var reach = Reach(isBeyond: !others.isEmpty, head: own)
    var chains: [UInt64: UInt128] = [:]
    for file in others {
      for sequence in OwnPast.start(of: file, own)..<file.segment.last {
        let chain = file.chain(at: sequence + 1)
        if chains[sequence + 1] ?? chain != chain { reach.isAmbiguous = true }
        chains[sequence + 1] = chain
      }
    }
    for file in others.sorted(by: { OwnPast.order($1, $0) }) {
      guard let chain = file.chains.last,
        let segments = segments(through: file.segment.last, chain, own)
      else { continue }
      (reach.head.segments, reach.head.last, reach.head.chain) = (
        segments, file.segment.last, chain
      )
      return reach
    }
    reach.head.segments = segments(through: own.last, own.chain, own) ?? own.segments
    return reach
  }

  static func order(_ a: File, _ b: File) -> Bool {
    (a.segment.last, a.segment.first, a.segment.hash)
      < (b.segment.last, b.segment.first, b.segment.hash)
  }

  /// Where a file has to be the same as what is there before it.
  private static func start(of file: File, _ own: Head) -> UInt64 {
    max(own.last, file.segment.first - 1)
  }

  /// The files that go on from the own head, or from one another. Those that do not are of a
  /// history that another one has replaced.
  private func linked(to own: Head) -> [File] {
    var points: [UInt64: Set<UInt128>] = [own.last: [own.chain]]
    var rest = files.values.filter { $0.segment.last > own.last }.sorted(by: OwnPast.order)
    var linked: [File] = []
    while true {
      let found = rest.filter { file in
        let start = OwnPast.start(of: file, own)
        return file.chain(at: start).map { points[start]?.contains($0) ?? false } ?? false
      }
      if found.isEmpty { return linked }
      for file in found {
        for sequence in OwnPast.start(of: file, own)..<file.segment.last {
          if let chain = file.chain(at: sequence + 1) {
            points[sequence + 1, default: []].insert(chain)
          }
        }
      }
      linked += found
      let taken = Set(found.map(\.segment.hash))
      rest.removeAll { taken.contains($0.segment.hash) }
    }
  }

  /// The segments of a head that ends with a delta; nil if there is a hole before it. Files that
  /// were merged since take the places of those that the own head names.
  private func segments(
    through last: UInt64, _ chain: UInt128, _ own: Head
  ) -> [Head.Segment]? {
    var chosen: [Head.Segment] = []
    var end = (last: last, chain: chain)
    while end.last > 0 {
      let found = files.values.filter {
        $0.segment.last == end.last && $0.chains.last == end.chain
      }
      guard let next = found.min(by: OwnPast.order) else { break }
      chosen.append(next.segment)
      end = (next.segment.first - 1, next.before)
    }
    // What is before that is as it is known here.
    let isWhole = end.last == 0 || end.last == own.last
    guard isWhole || own.segments.contains(where: { $0.first == end.last + 1 }) else { return nil }
    return own.segments.filter { $0.last <= end.last } + chosen.reversed()
  }
}
