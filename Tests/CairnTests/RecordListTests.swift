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
    #expect(!list.isEmpty)
    #expect(list[3] == "c")
    #expect(list.first == "x")
    #expect(list.last == "c")
    #expect(list.map { $0 } == ["x", "y", "B", "c"])
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

  @Test(arguments: [false, true])
  func `a handle stays with the field, and begins a new list once that was removed`(
    isCommitted: Bool
  ) throws {
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let record = try store.table("t").insert(["l": ["a", "b"]])
    let list = try record.list("l")
    if isCommitted { try store.sync() }
    try record.remove("l")
    if isCommitted { try store.sync() }
    #expect(try list.values.isEmpty)
    #expect(list.isEmpty && list.first == nil)
    #expect(code { try list.remove(at: 0) } == .badIndex)
    #expect(try record.get("l") == nil)
    try list.append("c")
    #expect(try record.listValues("l") == ["c"])
    try record.set("l", ["x", "y"])
    #expect(try list.values == ["x", "y"])
  }
}

/// What a list refuses, and that nothing is half done then.
@Suite struct RecordListErrorTests {
  private func code(_ body: () throws(CairnError) -> Void) -> CairnError.Code? {
    do {
      try body()
      return nil
    } catch { return error.code }
  }

  @Test func `bad indexes`() throws {
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let list = try store.table("t").insert(["l": ["a", "b"]]).list("l")
    try store.sync()
    #expect(code { () throws(CairnError) in try list.insert("x", at: 3) } == .badIndex)
    #expect(code { () throws(CairnError) in try list.insert("x", at: -1) } == .badIndex)
    #expect(code { () throws(CairnError) in try list.remove(at: 2) } == .badIndex)
    #expect(code { () throws(CairnError) in try list.replace(at: 2, with: "x") } == .badIndex)
    #expect(code { () throws(CairnError) in try list.move(from: 0, to: 2) } == .badIndex)
    #expect(code { () throws(CairnError) in try list.move(from: 2, to: 0) } == .badIndex)
    #expect(code { () throws(CairnError) in _ = try list.value(at: 2) } == .badIndex)
    #expect(code { () throws(CairnError) in _ = try list.value(at: .min) } == .badIndex)
    #expect(store.unsyncedChangesSize == 0)
    #expect(try list.values == ["a", "b"])
    let empty = try store.table("t").insert([:]).list("l")
    #expect(code { () throws(CairnError) in try empty.removeLast() } == .badIndex)
    #expect(code { () throws(CairnError) in try empty.remove(at: 0) } == .badIndex)
    #expect(try empty.record.get("l") == nil)
  }

  @Test func `no items at all are refused where others would be, and begin no list`() throws {
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let record = try store.table("t").insert(["l": ["a"]])
    let (list, absent) = (try record.list("l"), try record.list("m"))
    let none: [Value] = []
    func code(_ list: RecordList, at index: Int) -> CairnError.Code? {
      self.code { () throws(CairnError) in try list.insert(contentsOf: none, at: index) }
    }
    try store.sync()
    for isFolded in [false, true] {
      if isFolded { try store.compact() }
      for index in [0, 1] { #expect(code(list, at: index) == nil) }
      for index in [-1, 2, 99] { #expect(code(list, at: index) == .badIndex) }
      #expect(code(absent, at: 0) == nil)
      #expect(code(absent, at: 1) == .badIndex)
      #expect(try record.get("m") == nil)
      #expect(store.unsyncedChangesSize == 0)
      #expect(try !store.sync().committed)
    }
    try record.set("l", 5)
    #expect(code(list, at: 0) == .badType)
    try record.delete()
    #expect(code(list, at: 0) == .deleted)
    try store.close()
    #expect(code(list, at: 0) == .closed)
  }

  @Test func `no lists in lists, no list in another type`() throws {
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let record = try store.table("t").insert(["l": ["a"], "n": 1])
    let list = try record.list("l")
    #expect(code { () throws(CairnError) in try list.append(["x"]) } == .badType)
    #expect(code { () throws(CairnError) in try list.replace(at: 0, with: []) } == .badType)
    #expect(
      code { () throws(CairnError) in try list.insert(contentsOf: ["x", ["y"]], at: 0) }
        == .badType)
    #expect(code { () throws(CairnError) in _ = try record.list("n") } == .badType)
    #expect(try list.values == ["a"])
    try record.set("l", 5)
    #expect(code { () throws(CairnError) in try list.append("x") } == .badType)
    #expect(code { () throws(CairnError) in _ = try list.values } == .badType)
    #expect(list.count == 0)
    #expect(code { () throws(CairnError) in _ = try record.list("bad name") } == .illegalArgument)
  }

  @Test func `a list of a deleted record or a closed datastore`() throws {
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let record = try store.table("t").insert(["l": ["a"]])
    let list = try record.list("l")
    try record.delete()
    #expect(code { () throws(CairnError) in try list.append("x") } == .deleted)
    #expect(try list.values.isEmpty)
    #expect(code { () throws(CairnError) in _ = try record.list("l") } == .deleted)
    try store.close()
    #expect(code { () throws(CairnError) in try list.append("x") } == .closed)
    #expect(code { () throws(CairnError) in _ = try list.values } == .closed)
    #expect(Array(list).isEmpty)
    #expect(list.isEmpty && list.count == 0)
    #expect(list.first == nil)
    #expect(list.last == nil)
    #expect(!list.contains("a"))
  }

  @Test func `limits hold to the byte`() throws {
    let directory = try TemporaryDirectory()
    var options = Options()
    options.limits.recordBytes = 100 + 100 + 20 + 5 + 20 + 5
    let store = try DatastoreManager(root: directory.path, options: options).openDefaultDatastore()
    let list = try store.table("t").insert(["l": ["aaaaa"]]).list("l")
    #expect(code { () throws(CairnError) in try list.append("bbbbbb") } == .sizeLimit)
    try list.append("bbbbb")
    #expect(try list.record.size == options.limits.recordBytes)
    #expect(code { () throws(CairnError) in try list.replace(at: 0, with: "cccccc") } == .sizeLimit)
    #expect(code { () throws(CairnError) in try list.append("") } == .sizeLimit)
    try list.replace(at: 0, with: "c")
    try list.move(from: 0, to: 1)
    #expect(try list.values == ["bbbbb", "c"])
    #expect(store.size == 1000 + 250 - 4)
  }

  @Test func `the limits of a datastore and of a commit hold to the byte for edits, too`() throws {
    let directory = try TemporaryDirectory()
    func list(_ name: String, _ limits: Limits) throws -> RecordList {
      var options = Options()
      options.limits = limits
      let manager = try DatastoreManager(root: directory.path(name), options: options)
      return try manager.openDefaultDatastore().table("t").insert(["l": ["a"]]).list("l")
    }
    // Room for one more item of two bytes.
    let small = try list("a", Limits(datastoreBytes: 1000 + 221 + 22))
    #expect(code { () throws(CairnError) in try small.append("ccc") } == .sizeLimit)
    try small.append("bb")
    #expect(small.record.table.datastore.size == 1243)
    #expect(code { () throws(CairnError) in try small.append("") } == .sizeLimit)
    #expect(code { () throws(CairnError) in try small.replace(at: 0, with: "aa") } == .sizeLimit)
    try small.move(from: 0, to: 1)
    try small.remove(at: 0)
    #expect(try small.values == ["a"])
    // A delta, a change, a field, an item of two bytes, and an item that is moved.
    let busy = try list("b", Limits(deltaBytes: 100 + 100 + 100 + 22 + 20))
    let store = busy.record.table.datastore
    try store.sync()
    let long = Value(String(repeating: "b", count: 23))
    #expect(code { () throws(CairnError) in try busy.append(long) } == .sizeLimit)
    try busy.append("bb")
    try busy.move(from: 0, to: 1)
    #expect(store.unsyncedChangesSize == 342)
    #expect(code { () throws(CairnError) in try busy.append("") } == .sizeLimit)
    #expect(code { () throws(CairnError) in try busy.move(from: 0, to: 1) } == .sizeLimit)
    #expect(try busy.values == ["bb", "a"])
    try store.sync()
    try busy.move(from: 0, to: 1)
  }

  @Test func `what is pending counts, and nothing once it is synced`() throws {
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let list = try store.table("t").insert(["l": ["a", "b"]]).list("l")
    try store.sync()
    #expect(store.unsyncedChangesSize == 0)
    try list.append("ccc")
    // A delta, a change, a field, an item of three bytes.
    #expect(store.unsyncedChangesSize == 100 + 100 + 100 + 20 + 3)
    try list.remove(at: 0)
    #expect(store.unsyncedChangesSize == 100 + 100 + 100 + 20 + 3 + 20)
    try store.rollback()
    #expect(store.unsyncedChangesSize == 0)
  }
}
