import Cairn
import Foundation

/// A laptop and a phone share a list of things to do: the tutorial of the documentation, to run.
@main
struct TodoExample {
  let laptop: Device
  let phone: Device

  static func main() async throws {
    let place = FileManager.default.temporaryDirectory.path + "/cairn-todo-\(UUID().uuidString)"
    defer {
      // The system empties its temporary directory by itself, too.
      try? FileManager.default.removeItem(atPath: place)
    }
    try await TodoExample(in: place).run()
  }

  init(in place: String) throws {
    let shared = place + "/shared"
    laptop = try Device("laptop", root: place + "/laptop", folder: shared)
    phone = try Device("phone", root: place + "/phone", folder: shared)
  }

  func run() async throws {
    let shed = try writeDown()
    try await meetFirst()
    try await editOffline(shed)
    try await meetAgain()
    try await deleteAndEdit(shed)
    try await follow(shed)
    try laptop.datastore.close()
    try phone.datastore.close()
  }

  private func writeDown() throws -> RecordID {
    let shed = try laptop.todos.insert(
      Todo(title: "Paint the shed", priority: 1, steps: ["Sand the wood", "Two coats"])
    ).id
    try laptop.todos.insert(Todo(title: "Call Bela", priority: 2), id: "bela")
    try laptop.todos.update("bela") { $0.postponed += 1 }
    try laptop.datastore.sync()
    try laptop.show("Written down")
    return shed
  }

  private func meetFirst() async throws {
    try await laptop.meet()
    try await phone.meet()
    try phone.show("\nFetched")
  }

  private func editOffline(_ shed: RecordID) async throws {
    try laptop.todos.update(shed) {
      $0.title = "Paint the garden shed"
      $0.priority = 2
      $0.postponed += 1
    }
    let laptopSteps = try laptop.todos.table[shed].list("steps")
    try laptopSteps.insert("Buy primer", at: 1)
    try laptop.datastore.sync()

    // The phone is later, also by the clock: of two titles the first one stays.
    try await Task.sleep(for: .milliseconds(10))
    try phone.todos.update(shed) {
      $0.title = "Paint the shed green"
      $0.priority = 3
      $0.postponed += 1
    }
    let phoneSteps = try phone.todos.table[shed].list("steps")
    try phoneSteps.append("Clean the brushes")
    try phoneSteps.replace(at: 0, with: "Sand all the wood")
    try phone.datastore.sync()
  }

  private func meetAgain() async throws {
    try await laptop.meet()
    let result = try await phone.meet()
    try await laptop.meet()

    for conflict in result.conflicts {
      print("\nConflict in \(conflict.field): it is \(text(conflict.visible)) now")
      for loser in conflict.losers { print("  and not \(text(loser.value))") }
    }
    try laptop.show("\nMerged")
    try phone.show("\nMerged")
  }

  private func deleteAndEdit(_ shed: RecordID) async throws {
    try phone.todos.delete("bela")
    try laptop.todos.update("bela") { $0.title = "Call Bela back" }
    try laptop.todos.insert(Todo(title: "Find a ladder", priority: 1), id: "ladder")
    for device in [phone, laptop, phone] { try await device.meet() }
    try laptop.show("\nDeleted there, edited here")
  }

  private func follow(_ shed: RecordID) async throws {
    let upToDate = [try laptop.stayUpToDate(), try phone.stayUpToDate()]
    let open = Query().where("isDone", .equals(false)).sorted(by: "priority", .descending)
    print("\nOpen, on the phone:")
    for try await update in try phone.todos.table.live(open) {
      for change in update.changes {
        switch change {
        case .inserted(let todo, let at): print("  + \(at): \(try todo.string("title") ?? "")")
        case .removed(let todo, let from): print("  - \(from): \(try todo.string("title") ?? "")")
        case .moved(_, let from, let to): print("  \(from) -> \(to)")
        case .updated(_, let at): print("  ~ \(at)")
        @unknown default: print("  anything")
        }
      }
      if update.count == 1 { break }
      // Somebody is done with it on the laptop.
      try laptop.todos.update(shed) { $0.isDone = true }
      try laptop.datastore.sync()
    }
    for task in upToDate { task.cancel() }
  }
}

private func text(_ value: Value?) -> String {
  switch value {
  case .string(let text): "\"\(text)\""
  case .int(let number): "\(number)"
  default: "of another kind"
  }
}
