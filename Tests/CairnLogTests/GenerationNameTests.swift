import CairnLog
import Testing

@Suite struct GenerationNameTests {
  @Test(arguments: ["notes", "a.b", ".aBc", "g1-p-x", "-", "p-"], [0, 1, 12, UInt32.max])
  func `a directory's name tells id and generation`(id: String, generation: UInt32) throws {
    let name = FileName.directory(datastore: id, generation: generation)
    let parsed = try #require(FileName.generation(directory: name))
    #expect(parsed.id == id && parsed.generation == generation)
    #expect(name.utf8.allSatisfy { (97...122).contains($0) || (45...57).contains($0) || $0 == 95 })
    if generation == 0 { #expect(name == FileName.directory(datastore: id)) }
    let staging = FileName.staging(0xABC, name)
    #expect(FileName.stagingToken(staging) == 0xABC)
    #expect(FileName.generation(directory: staging) == nil)
  }

  @Test(arguments: [
    "g0-p-x", "g01-p-x", "g-p-x", "g1-x", "g4294967296-p-x", "1-p-x", "g1-s-.", "G1-p-x", "g1p-x",
    "catalogue", "trash", "", "g",
  ])
  func `other names are none`(name: String) {
    #expect(FileName.generation(directory: name) == nil)
    #expect(FileName.stagingToken(name) == nil)
  }

  @Test func `older generations are those of names, the newest first`() {
    #expect(FileName.olderGenerations(of: "g2-p-x") == ["g1-p-x", "p-x"])
    #expect(FileName.olderGenerations(of: "p-x").isEmpty)
    #expect(FileName.olderGenerations(of: "trash").isEmpty)
  }

  @Test func `names of secrets`() {
    #expect(FileName.secret(0xABC) == "0000000000000abc")
    #expect(FileName.secret("0000000000000abc") == 0xABC)
    #expect(FileName.secret("0000000000000ABC") == nil)
  }

  @Test func `names of catalogue files`() {
    #expect(FileName.catalogue(installation: 0xABC) == "0000000000000abc.cat")
    #expect(FileName.catalogueInstallation("0000000000000abc.cat") == 0xABC)
    for name in ["0000000000000ABC.cat", "abc.cat", "0000000000000abc (1).cat", ".cat"] {
      #expect(FileName.catalogueInstallation(name) == nil)
    }
  }
}
