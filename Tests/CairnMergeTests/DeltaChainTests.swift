import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// The hash that tells two histories of one device apart, whatever files they lie in.
@Suite struct DeltaChainTests {
  @Test func `the format page's example has it`() throws {
    let file = try FormatPage.example("published")
    let stored = UInt128(file.u64(at: 88)) << 64 | UInt128(file.u64(at: 80))
    let pack = try FormatPage.example("pack")
    #expect(try DeltaChain.values(of: pack, after: 0).last == stored)
  }

  @Test func `it does not depend on how deltas are packed`() throws {
    let pack = try FormatPage.example("pack")
    let chains = try DeltaChain.values(of: pack, after: 0)
    #expect(chains.count == 2 && chains[0] != chains[1])
    var reader = try PackReader(pack)
    var delta = Delta()
    var chain: UInt128 = 0
    while try reader.next(into: &delta) {
      var map: [UInt32] = []
      var writer = PackWriter(device: delta.dot.device, first: delta.dot.sequence)
      writer.append(delta, heap: reader.heap, names: reader.records, map: &map)
      chain = try #require(try DeltaChain.values(of: writer.bytes(), after: chain).last)
      #expect(chain == chains[Int(delta.dot.sequence) - 1])
    }
  }

  @Test func `it depends on all before it`() throws {
    let pack = try FormatPage.example("pack")
    #expect(try DeltaChain.values(of: pack, after: 1) != DeltaChain.values(of: pack, after: 0))
  }
}
