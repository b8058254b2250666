import CairnMerge
import Testing

struct IdentifierTests {
  private static func x(_ count: Int) -> String { String(repeating: "x", count: count) }

  @Test(arguments: [
    "1", "foo", x(64), "foo.bar", "foo...bar", "-foo-bar-", "_foo_bar_", ".Foo09-_bar",
    "default", "." + x(63),
  ])
  func `good datastore ids`(id: String) {
    #expect(Identifier.isValidDatastore(id))
    #expect(Identifier.isValidShareable(id) == (id.first == "."))
    #expect(Identifier.isValidPrivate(id) == (id.first != "."))
  }

  @Test(arguments: [
    "", "A", "foo@bar.com", x(65), ".", "foo.", ".foo.bar", "foo/bar", "..", "." + x(64), "fo o",
    "é", "foo\u{0}", ":info", ".foo=", "foo\n",
  ])
  func `bad datastore ids`(id: String) {
    #expect(!Identifier.isValidDatastore(id))
  }

  @Test(arguments: ["1", "foo", "Foo-_+.=Bar", x(64), ":foo", ":" + x(63), "a/b", ".", "..", "="])
  func `good names`(id: String) {
    #expect(Identifier.isValidTable(id))
    #expect(Identifier.isValidRecord(id))
    #expect(Identifier.isValidField(id))
    #expect(Identifier.isReserved(id) == id.hasPrefix(":"))
  }

  @Test(arguments: [
    "", "foo@bar.com", x(65), ":", ":" + x(64), "a:b", "::", "a b", "é", "a\u{0}", "a\\b",
    "e\u{301}",
  ])
  func `bad names`(id: String) {
    #expect(!Identifier.isValidTable(id))
    #expect(!Identifier.isValidRecord(id))
    #expect(!Identifier.isValidField(id))
  }
}
