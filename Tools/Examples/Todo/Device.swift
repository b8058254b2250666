import Cairn

/// One of the user's devices: a directory of its own, and the shared one.
struct Device: Sendable {
  let name: String
  let datastore: Datastore
  let todos: TypedTable<Todo>

  init(_ name: String, root: String, folder: String) throws {
    self.name = name
    let account = Account(user: "ana", folder: .directory(folder))
    let manager = try DatastoreManager(root: root, account: account)
    datastore = try manager.openDefaultDatastore()
    todos = try datastore.table(of: Todo.self)
  }

  /// Publishes what was changed here, and takes in what the other device has published.
  @discardableResult
  func meet() async throws -> SyncResult {
    try datastore.sync()  // durable on this device
    try await datastore.exchange()  // files go into the shared folder, and come from there
    return try datastore.sync()  // what came becomes visible, all at once
  }

  /// From now on the same by itself, until the datastore is closed.
  func stayUpToDate() throws -> Task<Void, Never> {
    try datastore.startExchanging()
    return Task {
      for await status in datastore.statusChanges where status.incoming {
        do { try datastore.sync() } catch { show(error) }
      }
    }
  }

  func show(_ error: any Error) { print("On the \(name): \(error)") }

  func show(_ heading: String) throws {
    print("\(heading), on the \(name):")
    let todos = try todos.records().sorted { $0.value.title < $1.value.title }
    for todo in todos.map(\.value) {
      let box = todo.isDone ? "[x]" : "[ ]"
      print("  \(box) \(todo.title), priority \(todo.priority), postponed \(todo.postponed)")
      for step in todo.steps { print("      - \(step)") }
    }
  }
}
