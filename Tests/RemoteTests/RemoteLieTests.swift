import CairnDisk
import TestSupport
import Testing

@testable import Cairn
@testable import TestServers

/// Servers, and what is between, that answer well and not the truth.
@Suite struct RemoteLieTests {
  typealias Kind = RemoteExchangeTests.Kind

  /// Every listing and file is asked for while each answer of one kind is a lie.
  @Test(
    arguments: [Kind.all[0], Kind.all[3], Kind.all[4]], FaultProxy.Fault.lies)
  func `listings and files that are old, incomplete or in another order lose nothing`(
    _ kind: Kind, _ fault: FaultProxy.Fault
  ) async throws {
    let (server, location, _) = try kind.make()
    let proxy = try FaultProxy(to: server.port)
    let bench = try RemoteBench(
      location.through(proxy.server.port, insteadOf: server.port), keeping: server)
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for number in 0..<3 {
      try a.add("a\(number)")
      try b.add("b\(number)")
      for device in [a, b] { try await device.pull() }
    }
    let memory = proxy.memory
    for number in 3..<8 {
      proxy.set { memory.allows(fault, $0) ? fault : nil }
      for (name, device) in [("a", a), ("b", b)] {
        try device.add("\(name)\(number)")
        do { try await device.pull() } catch {
          #expect((error as? CairnError)?.blamesCaller == false, "\(error)")
        }
        // Nobody ever takes back what was committed.
        let ids = try device.ids()
        #expect((0...number).allSatisfy { ids.contains("\(name)\($0)") })
      }
      proxy.heal()
      if number % 2 == 0 { for device in [a, b] { try await device.pull() } }
    }
    #expect(proxy.faultsTaken.contains(fault))
    for _ in 0..<6 { for device in [a, b] { try await device.pull() } }
    #expect(try a.ids().count == 16)
    #expect(try a.contents() == b.contents())
    for device in [a, b] {
      let report = try await device.exchange()
      #expect(report.waiting.isEmpty && report.problems.isEmpty, "\(report)")
      // A device that sees an old head of its own, or none, is no copy of another one.
      #expect(report.devices == 2)
    }
  }

  /// Its device has nothing more to say, so that nobody would read it again for another reason.
  @Test(arguments: [Kind.all[0], Kind.all[3], Kind.all[4]])
  func `a head of which the old content was given is read once more`(_ kind: Kind) async throws {
    let (server, location, _) = try kind.make()
    let proxy = try FaultProxy(to: server.port)
    let bench = try RemoteBench(
      location.through(proxy.server.port, insteadOf: server.port), keeping: server)
    let (a, b) = (try bench.open("a"), try bench.open("b"))
    for number in 0..<6 {
      if number < 3 {
        try a.add("a\(number)")
        try b.add("b\(number)")
      }
      for device in [a, b] { try await device.pull() }
    }
    try a.add("news")
    try await a.pull()
    let memory = proxy.memory
    proxy.set { memory.allows(.oldFile, $0) ? .oldFile : nil }
    do { try await b.pull() } catch {
      #expect((error as? CairnError)?.blamesCaller == false, "\(error)")
    }
    proxy.heal()
    #expect(proxy.faultsTaken.contains(.oldFile))
    #expect(try !b.ids().contains("news"))
    for _ in 0..<4 { try await b.pull() }
    #expect(try b.ids().contains("news"))
  }
}
