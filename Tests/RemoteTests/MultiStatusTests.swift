import Testing

@testable import CairnHTTP
@testable import CairnWebDAV

/// What the parts of a listing of WebDAV say, each for itself.
@Suite struct MultiStatusTests {
  private func items(_ responses: String...) throws -> [MultiStatus.Item] {
    var status = MultiStatus()
    let text = "<multistatus xmlns=\"DAV:\">" + responses.joined() + "</multistatus>"
    let request = HTTPRequest("PROPFIND", "https://host", "/", accepted: [207])
    try status.take(Array(text.utf8), request)
    try status.checkComplete(request)
    return status.items
  }

  private func response(_ href: String, _ parts: String...) -> String {
    "<response><href>\(href)</href>" + parts.joined() + "</response>"
  }

  private func part(_ props: String, _ status: String? = "HTTP/1.1 200 OK") -> String {
    let line = status.map { "<status>\($0)</status>" } ?? ""
    return "<propstat><prop>\(props)</prop>\(line)</propstat>"
  }

  private let refused = "HTTP/1.1 404 Not Found"

  @Test func `a property counts if its own part says so, and a file if its response does`() throws {
    let found = try items(
      response(
        "/d/a", part("<getcontentlength>5</getcontentlength><getetag>\"x\"</getetag>"),
        part("<getetag>\"y\"</getetag><getlastmodified>z</getlastmodified>", refused)),
      // A part without a status is fine, whatever the one before it was.
      response(
        "/d/b", part("<getlastmodified>z</getlastmodified><getetag>\"y\"</getetag>", refused),
        part("<getcontentlength>7</getcontentlength>", nil)),
      // Parts that are fine complete one another.
      response(
        "/d/c", part("<getcontentlength>9</getcontentlength>"), part("<getetag>W/\"w\"</getetag>")))
    #expect(
      found == [
        MultiStatus.Item(path: "d/a", size: 5, tag: "x"), MultiStatus.Item(path: "d/b", size: 7),
        MultiStatus.Item(path: "d/c", size: 9, tag: "w"),
      ])
    // And a file, if nothing is said of it as a whole that means that it is not there.
    let size = part("<getcontentlength>5</getcontentlength>")
    let files = try items(
      response("/d/gone", "<status>\(refused)</status>"), response("/d/a", size),
      "<response>\(size)</response>", response("/d/../b", size), response("/d/c", size))
    #expect(files.map(\.path) == ["d/a", "d/c"])
    #expect(files.map(\.size) == [5, 5])
  }

  @Test func `nothing is said of a file by what was said of the one before`() throws {
    let all =
      "<getcontentlength>5</getcontentlength><getlastmodified>z</getlastmodified>"
      + "<getetag>x</getetag>"
    let directory = "<resourcetype><collection/></resourcetype>"
    let found = try items(
      response("/d", part(directory)), response("/d/a", part(all)),
      response("/d/b", part("<getcontentlength/><resourcetype/>")), response("/d/c"),
      // No file has a slash at its end, and a collection is one as a type only.
      response("/d/e/"), response("/d/f", part("<lockdiscovery><collection/></lockdiscovery>")))
    #expect(found[0] == MultiStatus.Item(path: "d", isDirectory: true))
    #expect(found[1] == MultiStatus.Item(path: "d/a", size: 5, modified: "z", tag: "x"))
    #expect(found.dropFirst(2).map(\.path) == ["d/b", "d/c", "d/e", "d/f"])
    #expect(found.dropFirst(2).map(\.isDirectory) == [false, false, true, false])
    for item in found.dropFirst(2) {
      #expect(item.size == nil && item.modified == nil && item.tag == nil, "\(item.path)")
    }
  }
}
