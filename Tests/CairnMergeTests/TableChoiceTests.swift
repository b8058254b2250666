import CairnBytes
import CairnMerge
import TestSupport
import Testing

/// Packs of which only some tables are kept.
struct TableChoiceTests {
  private func contents(_ pack: [UInt8]) throws(DecodeError) -> [DeltaContent] {
    var reader = try PackReader(pack)
    var delta = Delta()
    var result: [DeltaContent] = []
    while try reader.next(into: &delta) {
      result.append(DeltaContent(delta, heap: reader.heap, names: reader.records))
    }
    return result
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `a chosen pack has the same deltas, and in them the chosen tables`(seed: UInt64) throws {
    var sample = DeltaSample(seed: 4_100 + seed)
    var writer = PackWriter(device: sample.device, first: 1)
    var map: [UInt32] = []
    for _ in 0..<20 {
      let delta = sample.next(records: 5)
      writer.append(delta, heap: sample.heap, names: sample.names, map: &map)
    }
    let pack = writer.bytes()
    let whole = try contents(pack)
    let tables = Set(whole.flatMap(\.sections).map(\.table))
    try #require(tables.isSuperset(of: ["tasks", "people", ":rules"]))
    let choices: [TableChoice] = [.only(["tasks"]), .except(["tasks"]), .only([]), .only(tables)]
    for choice in choices {
      let expected = whole.map { delta in
        var kept = delta
        kept.sections.removeAll { !choice.keeps($0.table) }
        return kept
      }
      #expect(try contents(choice.chosen(of: pack)) == expected)
    }
    #expect(try TableChoice.all.chosen(of: pack) == pack)
  }

  @Test func `tables of the library's own are always kept`() {
    for choice in [TableChoice.all, .only([]), .except([":rules", "t"])] {
      #expect(choice.keeps(":rules"))
    }
    #expect(!TableChoice.only(["u"]).keeps("t") && TableChoice.only(["t"]).keeps("t"))
    #expect(!TableChoice.except(["t"]).keeps("t") && TableChoice.except(["u"]).keeps("t"))
  }
}
