import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// What people really typed, concurrently, a commit for each key.
@Suite struct ListTraceTests {
  private struct Message {
    var stamp: Stamp
    var context: VersionVector
    var devices: [DeviceID]
    var bytes: [UInt8]
  }

  /// One of the people.
  private struct Agent {
    var list: ListState
    var seen = VersionVector([ListPair.base.dot])

    mutating func receive(_ message: Message) throws {
      let edit = try ListEditCoding.decode(
        message.bytes, 0..<message.bytes.count, dot: message.stamp.dot, devices: message.devices)
      list.apply(edit, stamp: message.stamp, context: message.context)
      seen.insert(message.stamp.dot)
    }

    mutating func commit(_ patches: [ListTrace.Patch], device: Int, time: Int) -> Message? {
      for patch in patches {
        for _ in 0..<patch.deleted { list.remove(at: patch.position) }
        for (offset, byte) in patch.inserted.enumerated() {
          list.insert(ListTraceTests.item(byte), at: patch.position + offset)
        }
      }
      let id = DeviceID(rawValue: UInt64(device) + 10)
      let dot = Dot(device: id, sequence: seen[id] + 1)
      guard let edit = list.collect() else { return nil }
      seen.insert(dot)
      let stamp = Stamp(dot: dot, time: Int64(time))
      list.commit(edit, stamp: stamp, context: seen)
      var message = Message(stamp: stamp, context: seen, devices: [], bytes: [])
      message.devices = ListEditCoding.encode(edit, dot: dot, into: &message.bytes)
      return message
    }
  }

  private static func item(_ byte: UInt8) -> FieldValue {
    .string(String(decoding: [byte], as: UTF8.self))
  }

  private func text(_ list: ListState) -> [UInt8] {
    list.values(.remote).flatMap { value in
      if case .string(let text) = value { Array(text.utf8) } else { [UInt8]() }
    }
  }

  @Test(arguments: ["clownschool", "friendsforever"])
  func `everybody ends with the text that they had`(name: String) throws {
    let trace = try ListTrace(name)
    #expect(trace.transactions.count > 20_000)
    let empty = ListState([], stamp: ListPair.base, isCreated: false)
    var agents = [Agent](repeating: Agent(list: empty), count: trace.agents)
    // By transaction: how many of each agent's transactions have been seen after it.
    var known: [[Int]] = []
    var messages = [[Message?]](repeating: [], count: trace.agents)
    // Each agent's deltas in the order of the file, which is a causal one.
    var order: [(agent: Int, number: Int)] = []
    var delivered = [Int](repeating: 0, count: trace.agents)
    for (time, transaction) in trace.transactions.enumerated() {
      let agent = transaction.agent
      var needed = [Int](repeating: 0, count: trace.agents)
      for parent in transaction.parents {
        for index in needed.indices { needed[index] = max(needed[index], known[parent][index]) }
      }
      #expect(needed[agent] == messages[agent].count)
      try deliver(needed, to: &agents[agent], agent, messages, order, from: &delivered[agent])
      let message = agents[agent].commit(transaction.patches, device: agent, time: time)
      order.append((agent, messages[agent].count))
      messages[agent].append(message)
      needed[agent] += 1
      known.append(needed)
    }
    let all = messages.map(\.count)
    for agent in agents.indices {
      try deliver(all, to: &agents[agent], agent, messages, order, from: &delivered[agent])
      #expect(text(agents[agent].list) == trace.end)
    }
    try check(agents.map(\.list))
  }

  /// Delivers what an agent lacks of what is needed. All before `start` is there already.
  private func deliver(
    _ needed: [Int], to agent: inout Agent, _ index: Int, _ messages: [[Message?]],
    _ order: [(agent: Int, number: Int)], from start: inout Int
  ) throws {
    var isGapless = true
    for place in start..<order.count {
      let (author, number) = order[place]
      if author != index, number < needed[author] {
        if let message = messages[author][number], !agent.seen.contains(message.stamp.dot) {
          try agent.receive(message)
        }
      } else if author != index {
        isGapless = false
      }
      if isGapless { start = place + 1 }
    }
  }

  private func check(_ lists: [ListState]) throws {
    var bytes: [UInt8] = []
    ListStateCoding.encode(lists[0], into: &bytes)
    for list in lists.dropFirst() {
      var other: [UInt8] = []
      ListStateCoding.encode(list, into: &other)
      #expect(other == bytes)
    }
    var reader = ByteReader(bytes)
    var copy = try ListStateCoding.decode(&reader)
    #expect(reader.isAtEnd && copy == lists[0])
    copy.insert(.string("x"), at: copy.count / 2)
    #expect(copy.count == lists[0].count + 1)
  }
}
