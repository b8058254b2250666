import CairnMerge
import CairnStore
import TestSupport
import Testing

@testable import Cairn

/// Whatever members do, and whenever followers look: at the end a follower has what they have.
@Suite struct FollowPropertyTests {
  private final class Crowd {
    let bench: FolderWorkbench
    let random: SeededRandom
    let tables = ["t", "u", "v"]
    var members: [Datastore] = []
    var followers: [(name: String, choice: FollowPolicy.Tables, follower: DatastoreFollower)] = []

    init(seed: UInt64) async throws {
      bench = try FolderWorkbench()
      random = SeededRandom(seed)
      bench.options.durability = .none
      bench.options.graceSeconds = 0
      // So that a few records are enough for all that large datastores do.
      bench.options.tuning.smallFileBytes = 600
      bench.options.tuning.smallFileRun = 3
      bench.options.tuning.packBytes = 500
      bench.options.tuning.compactFrom = 4000
      bench.options.tuning.segmentBytes = 8 << 10
      bench.options.tuning.compactsInline = true
      for number in 0..<3 { members.append(try bench.open("m\(number)")) }
      try members[0].add("first", to: "t")
      try await members[0].exchange()
      let chosen: [FollowPolicy.Tables] = [.all, .only(["t"]), .except(["t"]), choice()]
      for (number, choice) in chosen.enumerated() {
        let name = "f\(number)"
        followers.append((name, choice, try await bench.follow(name, FollowPolicy(tables: choice))))
      }
    }

    func choice() -> FollowPolicy.Tables {
      let names = Set(tables.filter { _ in random.coin() })
      return random.coin() ? .only(names) : .except(names)
    }

    func edit(_ device: Datastore) throws {
      let table = try device.table(tables[random.below(3)])
      let id = RecordID("r\(random.below(8))")
      guard let record = try table.record(id) else {
        try table.insert(["n": .int(Int64(random.below(9))), "list": .list([1, 2])], id: id)
        return
      }
      switch random.below(8) {
      case 0: try record.delete()
      case 1: try table.setRule(ResolutionRule.allCases[random.below(5)], field: "n")
      case 2:
        try record.delete()
        try table.insert(["again": true], id: id)
      case 3, 4:
        if try record.get("list") == nil { return try record.set("list", .list([])) }
        let list = try record.list("list")
        if random.coin() || list.count == 0 {
          try list.append(.int(Int64(random.below(99))))
        } else {
          try list.remove(at: random.below(list.count))
        }
      default:
        try record.set("n", .int(Int64(random.below(100))))
        try record.set("text", .string("text \(random.below(50)) and some more of it"))
      }
    }

    func step() async throws {
      if random.below(10) < 7 {
        let member = members[random.below(members.count)]
        switch random.below(12) {
        case 0..<5: try edit(member)
        case 5..<8: try member.sync()
        case 8..<11: try await member.pull()
        default: try member.compact()
        }
        return
      }
      let number = random.below(followers.count)
      let follower = followers[number].follower
      switch random.below(12) {
      case 0..<5: try await follower.pull()
      case 5: try await follower.datastore.exchange()
      case 6: try follower.datastore.sync()
      case 7: try follower.datastore.compact()
      case 8, 9: try await reopen(number)
      case 10: try await repair()
      default:
        followers[number].choice = choice()
        try await reopen(number)
      }
    }

    func reopen(_ number: Int) async throws {
      try followers[number].follower.close()
      let policy = FollowPolicy(tables: followers[number].choice)
      followers[number].follower = try await bench.follow(followers[number].name, policy)
    }

    /// A member's files are gone, and come back in a snapshot.
    func repair() async throws {
      let member = members[random.below(members.count)]
      try member.sync()
      try await member.exchange()
      try member.compact()
      for name in try bench.segments(member) { try bench.remove(bench.shared + "/" + name) }
      try await member.repairFolder()
    }

    func settle() async throws {
      var idle = 0
      for _ in 0..<60 where idle < 2 {
        var isIdle = true
        for member in members {
          try member.sync()
          isIdle = try await member.pull().isIdle && isIdle
        }
        idle = isIdle ? idle + 1 : 0
      }
      #expect(idle >= 2)
    }
  }

  @Test(arguments: UInt64(1)...16)
  func `after the last round a follower has what was chosen of the members'`(
    seed: UInt64
  ) async throws {
    let crowd = try await Crowd(seed: seed)
    for _ in 0..<6 {
      for _ in 0..<40 { try await crowd.step() }
      try await crowd.settle()
      let wanted = try content(crowd.members[0])
      for member in crowd.members { #expect(try content(member) == wanted, "seed \(seed)") }
      for (name, choice, follower) in crowd.followers {
        for _ in 0..<5 { try await follower.pull() }
        let copy = follower.datastore
        let expected = chosen(wanted, choice.choice.keeps)
        #expect(try content(copy) == expected, "seed \(seed), \(name), \(choice)")
        #expect(copy.recordCount == expected.count, "seed \(seed), \(name), \(choice)")
        if choice == .all { #expect(copy.size == crowd.members[0].size, "seed \(seed)") }
        #expect(copy.committedDeltas == 0, "it never authors anything")
      }
    }
    let heads = try crowd.bench.names(crowd.bench.shared, ".head")
    #expect(heads.count == crowd.members.count, "seed \(seed)")
  }
}
