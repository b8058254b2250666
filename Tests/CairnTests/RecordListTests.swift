import TestSupport
import Testing

@testable import Cairn

@Suite struct RecordListTests {
  @Test func `a list is edited, lasts, and is read back`() throws {
    let directory = try TemporaryDirectory()
    let manager = try DatastoreManager(root: directory.path)
    let store = try manager.openDefaultDatastore()
    let record = try store.table("t").insert(["name": "x"])
    let list = try record.list("tags")
    #expect(try record.get("tags") == nil)
    try list.append("a")
    try list.append("c")
    try list.insert("b", at: 1)
    #expect(try list.values == ["a", "b", "c"])
    try store.sync()
    try list.move(from: 0, to: 2)
    try list.replace(at: 0, with: "B")
    try list.removeLast()
    try list.insert(contentsOf: ["x", "y"], at: 0)
    #expect(try list.values == ["x", "y", "B", "c"])
    #expect(Array(list) == ["x", "y", "B", "c"])
    #expect(list.count == 4)
    #expect(list[3] == "c")
    try store.rollback()
    #expect(try list.values == ["a", "b", "c"])
    try list.remove(at: 1)
    try store.sync()
    let size = store.size
    try store.close()
    let again = try manager.openDefaultDatastore()
    let found = try #require(try again.table("t").record(record.id))
    #expect(try found.list("tags").values == ["a", "c"])
    #expect(again.size == size)
    try found.list("tags").append("d")
    try again.sync()
    try again.compact()
    #expect(try found.list("tags").values == ["a", "c", "d"])
    try again.close()
    let third = try manager.openDefaultDatastore()
    #expect(try third.table("t").record(record.id)?.listValues("tags") == ["a", "c", "d"])
    try third.close()
  }
}
