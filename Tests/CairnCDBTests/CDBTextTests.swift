import Cairn
import CairnCDB
import Testing

@Suite struct CDBTextTests {
  @Test func `keys and values are any bytes`() throws {
    let records: [CDBSample.Record] = [
      ([], []), (CDBSample.bytes("->"), CDBSample.bytes("\n+1,1:")), ([0, 255], [10, 10]),
    ]
    let text = CDBSample.text(records)
    #expect(CDBSample.isEqual(try CDBSample.records(text), records))
    #expect(text.starts(with: CDBSample.bytes("+0,0:->\n+2,6:->->")))
  }

  @Test func `mistakes have a place`() throws {
    let cases: [(String, UInt64)] = [
      ("", 0), ("+1,1:a->b\n", 10), ("+1,1:a->b", 9), ("+1,1:a->b\n\nx", 11), ("1,1:a->b\n\n", 0),
      ("+,1:a->b\n\n", 1), ("+1;1:a->b\n\n", 2), ("+1,1:a=>b\n\n", 6), ("+1,1:a->bc\n\n", 9),
      ("+9,1:a->b\n\n", 5), ("+1,9:a->b\n\n", 8), ("+99999999999999999999,1:a->b\n\n", 1),
      ("+-1,1:a->b\n\n", 1),
    ]
    for (text, offset) in cases {
      let error = #expect(throws: CairnError.self, "\(text)") {
        try CDBSample.records(CDBSample.bytes(text))
      }
      #expect(error?.code == .illegalArgument)
      #expect(error?.offset == offset, "\(text): \(error?.message ?? "")")
    }
  }
}
