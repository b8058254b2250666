import Testing

@testable import CairnWebDAV

/// What is remembered of a server that was written to.
@Suite struct WebDAVMemoryTests {
  @Test func `a tag that the server vouches for is the version of what was written`() {
    let memory = WebDAVMemory()
    let version = memory.noteWritten("p", "\"1\"", 5)
    #expect(memory.ownVersion("p", "1", 5) == version)
    #expect(memory.ownVersion("p", "2", 5) == nil && memory.ownVersion("p", nil, 5) == nil)
    #expect(memory.ownVersion("p", "1", 6) == nil && memory.ownVersion("q", "1", 5) == nil)
    memory.forgetWritten("p")
    #expect(memory.ownVersion("p", "1", 5) == nil)
  }

  @Test(arguments: ["W/\"1\"", " W/\"1\"", "\"\"", "", nil] as [String?])
  func `one that it does not vouch for says nothing, and what was known before holds no more`(
    _ tag: String?
  ) {
    let memory = WebDAVMemory()
    let before = memory.noteWritten("p", "\"1\"", 5)
    let versions = [memory.noteWritten("p", tag, 5), memory.noteWritten("p", tag, 5)]
    // Nothing that a listing says is ever one of these: it is read back.
    #expect(Set(versions + [before]).count == 3)
    for known in ["1", "W/\"1\"", nil] as [String?] {
      #expect(memory.ownVersion("p", known, 5) == nil)
    }
  }
}
