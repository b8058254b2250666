import TestSupport
import Testing

@testable import Cairn

/// Lists that many threads edit at once.
@Suite struct RecordListConcurrencyTests {
  @Test func `what threads put in is all there`() async throws {
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let list = try store.table("t").insert([:]).list("l")
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<6 {
        group.addTask {
          for number in 0..<60 {
            do {
              try list.insert(.int(Int64(thread * 1000 + number)), at: 0)
              if number % 10 == 9 { try store.sync() }
              if number % 7 == 0, try !list.values.isEmpty { _ = list.count }
            } catch { Issue.record("\(error)") }
          }
        }
      }
    }
    try store.sync()
    let found = try list.values.map { value -> Int64 in
      guard case .int(let number) = value else { return -1 }
      return number
    }
    #expect(found.count == 360)
    for thread in 0..<6 {
      let mine = found.filter { $0 / 1000 == thread }.map { $0 % 1000 }
      #expect(mine == (0..<60).reversed().map { Int64($0) })
    }
  }

  @Test func `a walk over a list is of one moment while another thread empties it`() async throws {
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let list = try store.table("t").insert([:]).list("l")
    let all = (0..<20).map { Value.int(Int64($0)) }
    try list.insert(contentsOf: all, at: 0)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        do {
          for _ in 0..<200 {
            while !list.isEmpty { try list.removeLast() }
            try list.insert(contentsOf: all, at: 0)
            try store.sync()
          }
        } catch { Issue.record(error) }
      }
      for _ in 0..<2 {
        group.addTask {
          // It is emptied from its end: each moment's items are the first of all.
          for _ in 0..<1000 {
            #expect(all.starts(with: Array(list)))
            #expect(all.starts(with: list.map { $0 }))
            #expect(all.starts(with: list.filter { _ in true }))
            #expect(all.starts(with: list.enumerated().map { $0.element }))
            let (first, last) = (list.first, list.last)
            #expect(first == nil || first == all[0])
            if let last { #expect(all.contains(last)) }
            _ = list.contains(all[19])
          }
        }
      }
    }
    #expect(Array(list) == all)
  }
}
