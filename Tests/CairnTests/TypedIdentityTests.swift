import Cairn
import TestSupport
import Testing

/// Models that carry the id of their record.
@Suite struct TypedIdentityTests {
  struct Note: TableModel, Identifiable, Equatable {
    static let table = "notes"
    var id: RecordID
    var text: String
  }

  /// Its id comes from what it is.
  struct Country: TableModel, Identifiable, Equatable {
    static let table = "countries"
    var code: String
    var name: String
    var id: RecordID { RecordID(code) }
  }

  /// Another kind of id is a field like others.
  struct Person: TableModel, Identifiable, Equatable {
    static let table = "persons"
    var id: String
    var name: String
  }

  private let bench: TypedBench

  init() throws { bench = try TypedBench() }

  @Test func `the model's id is the record's, and no field`() throws {
    let notes = try bench.datastore.table(of: Note.self)
    let note = Note(id: .random(), text: "x")
    #expect(try notes.insert(note).id == note.id)
    #expect(try notes.table[note.id].fields == ["text": "x"])
    #expect(try notes.get(note.id) == note)
    #expect(try notes.records().map(\.value) == [note])
    #expect(try notes.insert(Note(id: "a", text: "a"), id: "a").id == "a")
    #expect(try notes.getOrInsert("b", Note(id: "b", text: "b")).inserted)
    try notes.update(Note(id: "b", text: "bb"))
    #expect(try notes.get("b")?.text == "bb")
    let twice = #expect(throws: CairnError.self) { try notes.insert(Note(id: "a", text: "z")) }
    #expect(twice?.code == .exists)
    let bad = #expect(throws: CairnError.self) { try notes.insert(Note(id: "a b", text: "z")) }
    #expect(bad?.code == .illegalArgument)
  }

  @Test func `a record's id can't become another`() throws {
    let notes = try bench.datastore.table(of: Note.self)
    try notes.insert(Note(id: "a", text: "a"))
    for call in [
      { try notes.update("a", Note(id: "b", text: "x")) },
      {
        try notes.update("a") {
          $0.id = "b"
          $0.text = "x"
        }
      },
      { try notes.insert(Note(id: "b", text: "x"), id: "c") },
      { _ = try notes.getOrInsert("c", Note(id: "b", text: "x")) },
    ] as [() throws -> Void] {
      let error = #expect(throws: CairnError.self) { try call() }
      #expect(error?.code == .illegalArgument)
      #expect(error?.message.hasSuffix("a record's id can't be another, nor change") == true)
    }
    #expect(try notes.records().map(\.value) == [Note(id: "a", text: "a")])
  }

  @Test func `an id that is made from a field`() throws {
    let countries = try bench.datastore.table(of: Country.self)
    let island = Country(code: "IS", name: "Iceland")
    #expect(try countries.insert(island).id == "IS")
    #expect(try countries.table["IS"].fields == ["code": "IS", "name": "Iceland"])
    #expect(try countries.get("IS") == island)
    #expect(code { _ = try countries.update("IS") { $0.code = "NO" } } == .illegalArgument)
    #expect(try countries.get("IS") == island)
    try countries.update("IS") { $0.name = "Ísland" }
    #expect(try countries.get("IS")?.name == "Ísland")
  }

  @Test func `ids of another type are fields`() throws {
    let persons = try bench.datastore.table(of: Person.self)
    let ann = Person(id: "ann", name: "Ann")
    let record = try persons.insert(ann)
    #expect(record.id != "ann")
    #expect(try persons.table[record.id].fields == ["id": "ann", "name": "Ann"])
    #expect(try persons.get(record.id) == ann)
  }
}
