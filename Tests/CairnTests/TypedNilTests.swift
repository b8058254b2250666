import Cairn
import Testing

/// A model that says itself how it is encoded, and of what is absent that it is.
@Suite struct TypedNilTests {
  struct Frank: Codable, Sendable, Equatable {
    var text: String
    var note: String?

    private enum CodingKeys: String, CodingKey { case text, note }

    init(_ text: String, note: String?) { (self.text, self.note) = (text, note) }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(text, forKey: .text)
      if let note {
        try container.encode(note, forKey: .note)
      } else {
        try container.encodeNil(forKey: .note)
      }
    }
  }

  @Test func `what a model encodes as nil is removed by an update`() throws {
    let table = try TypedBench().table(of: Frank.self)
    for id: RecordID in ["a", "b"] { try table.insert(Frank("x", note: "y"), id: id) }
    try table.update("a", Frank("z", note: nil))
    try table.update("b") { $0.note = nil }
    #expect(try table.table["a"].fields == ["text": "z"])
    #expect(try table.table["b"].fields == ["text": "x"])
    #expect(try table.get("b") == Frank("x", note: nil))
    try table.insert(Frank("new", note: nil), id: "c")
    #expect(try table.table["c"].fields == ["text": "new"])
  }
}
