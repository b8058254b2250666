import CairnBytes
import CairnMerge
import Testing

/// What deltas that get another author are said to have seen, and what becomes of what they name.
struct MovedDeltaTests {
  let old = DeviceID(rawValue: 1)
  let new = DeviceID(rawValue: 2)
  let other = DeviceID(rawValue: 3)
  let third = DeviceID(rawValue: 4)

  func dot(_ device: DeviceID, _ sequence: UInt64) -> Dot {
    Dot(device: device, sequence: sequence)
  }

  /// A delta of the old device that inserts a record.
  func inserted(_ sequence: UInt64, after dependencies: [Dot] = []) -> HandmadeDelta {
    var one = HandmadeDelta(old, sequence)
    one.add("t", records: ["r\(sequence)"], .put, [.int(Int64(sequence))])
    one.delta.dependencies = dependencies
    return one
  }

  /// One that adds to a field, in a run that began with its first delta.
  private func adding(_ sequence: UInt64, total: Number) -> HandmadeDelta {
    var one = HandmadeDelta(old, sequence)
    one.add("t", records: ["r"], .add, [total.value])
    one.delta.totals[0] = Delta.Addition(since: 1, total: total)
    return one
  }

  private func moved(
    _ deltas: [HandmadeDelta], behind common: CommonBranch,
    present: VersionVector = VersionVector()
  ) throws -> [Delta] {
    var moved = Reauthoring(common, author: new, present: present)
    try moved.add(pack: HandmadeDelta.pack(deltas))
    #expect(!moved.isUncertain)
    let result = try moved.packs.flatMap { try HandmadeDelta.read($0) }
    #expect(result.map(\.dot) == deltas.indices.map { dot(new, UInt64($0) + 1) })
    return result
  }

  @Test func `the first builds on all that its device had seen, and none on what is not there`()
    throws
  {
    let shared = [inserted(1, after: [dot(other, 3)]), inserted(2, after: [dot(other, 5)])]
    var beginning = CommonBranch(old)
    try beginning.add(pack: HandmadeDelta.pack(shared), through: 1)
    #expect(beginning.last == 1 && beginning.context == VersionVector([dot(other, 3)]))
    var common = CommonBranch(old)
    try common.add(pack: HandmadeDelta.pack(shared), through: 2)
    #expect(common.last == 2 && common.context == VersionVector([dot(other, 5)]))

    let present = VersionVector([dot(old, 2), dot(other, 7), dot(third, 2)])
    let deltas = [inserted(3, after: [dot(third, 2)]), inserted(4, after: [dot(other, 9)])]
    let result = try moved(deltas, behind: common, present: present)
    #expect(result[0].dependencies == [dot(old, 2), dot(other, 5), dot(third, 2)])
    // The files of two deltas of the other one are lost.
    #expect(result[1].dependencies == [dot(other, 7)])
  }

  @Test func `births by deletes that are moved move along, those by others stay`() throws {
    var deletes = HandmadeDelta(old, 3)
    deletes.add("t", records: ["x"])
    var inserts = HandmadeDelta(old, 4)
    inserts.add("t", records: ["x"], born: [dot(old, 2), dot(old, 3), dot(other, 1)])
    let result = try moved([deletes, inserts], behind: CommonBranch(old, through: 2))
    #expect(result[1].born[0] == [dot(old, 2), dot(new, 1), dot(other, 1)])
  }

  @Test func `of a run that both have begun each has what it added, and so has who replaced it`()
    throws
  {
    var common = CommonBranch(old)
    try common.add(
      pack: HandmadeDelta.pack([adding(1, total: .int(5)), adding(2, total: .int(8))]),
      through: 2)
    var puts = HandmadeDelta(old, 5)
    puts.add("t", records: ["r"], .putCovering, [.int(40)])
    let theirs = RunningTotal(device: other, last: 4, total: .int(2))
    puts.delta.covered[0] = [RunningTotal(device: old, last: 4, total: .int(15)), theirs]
    let result = try moved(
      [adding(3, total: .int(12)), adding(4, total: .int(15)), puts], behind: common)
    #expect(result[0].totals[0] == Delta.Addition(since: 1, total: .int(4)))
    #expect(result[1].totals[0] == Delta.Addition(since: 1, total: .int(7)))
    #expect(
      result[2].covered[0] == [
        RunningTotal(device: old, last: 2, total: .int(8)),
        RunningTotal(device: new, last: 2, total: .int(7)), theirs,
      ])
  }

  @Test func `what came to a sum beyond all doubles is the most that one holds, and is read`()
    throws
  {
    for sign in [1.0, -1.0] {
      let (begun, end) = (Number.double(-1e308 * sign), Number.double(1e308 * sign))
      var common = CommonBranch(old)
      try common.add(pack: HandmadeDelta.pack([adding(1, total: begun)]), through: 1)
      var puts = HandmadeDelta(old, 4)
      puts.add("t", records: ["r"], .putCovering, [.int(40)])
      puts.delta.covered[0] = [RunningTotal(device: old, last: 3, total: end)]
      let half = adding(2, total: .double(0.5e308 * sign))
      let result = try moved([half, adding(3, total: end), puts], behind: common)
      let between = Number.double(0.5e308 * sign + 1e308 * sign)
      let most = Number.double(sign * Double.greatestFiniteMagnitude)
      #expect(result[0].totals[0] == Delta.Addition(since: 1, total: between))
      #expect(result[1].totals[0] == Delta.Addition(since: 1, total: most))
      #expect(
        result[2].covered[0] == [
          RunningTotal(device: old, last: 1, total: begun),
          RunningTotal(device: new, last: 2, total: most),
        ])
    }
  }

  /// A damaged delta: it goes on with a run that nobody has begun.
  @Test func `a sum that goes on from nothing is damage, and traps nobody`() throws {
    var common = CommonBranch(old)
    let shared = [inserted(1, after: []), inserted(2, after: [])]
    try common.add(pack: HandmadeDelta.pack(shared), through: 2)
    var moved = Reauthoring(common, author: new, present: VersionVector())
    #expect(throws: DecodeError.malformed("a sum that goes on with a run which never began")) {
      try moved.add(pack: HandmadeDelta.pack([adding(3, total: .int(12))]))
    }
    #expect(moved.packs.isEmpty)
  }
}
