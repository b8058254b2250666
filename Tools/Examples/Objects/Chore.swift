import Cairn

/// Something to do at home or at work, as this device has it.
struct Chore: TableModel, Equatable {
  static let table = "chores"

  var title: String
  var minutes = 0
  var isAtWork = false
  /// How this device shows it: nobody else's business.
  var isFolded = false

  /// Which datastore it goes to. It follows from the chore, so that all devices agree.
  var route: String { isAtWork ? "work" : "home" }
}

/// A chore as devices share it.
struct SharedChore: TableModel {
  static let table = "shared-chores"
  static let rules: [String: ResolutionRule] = ["hours": .max]

  var name: String
  var hours: Double
  var isAtWork: Bool
}

/// What is written down on a device and stays there.
struct Draft: TableModel {
  static let table = "drafts"

  var text: String
}

extension Chore {
  static let mapping = ObjectMapping(
    Chore.self, as: SharedChore.self,
    map: { chore, _ in
      MappedRecord(
        SharedChore(
          name: chore.title, hours: Double(chore.minutes) / 60, isAtWork: chore.isAtWork),
        route: chore.route)
    },
    update: { chore, shared, _ in
      if chore == nil { chore = Chore(title: shared.name) }
      chore?.title = shared.name
      // Another device may have written anything, and 123 minutes are not quite 2.05 hours.
      if let minutes = Int(exactly: (shared.hours * 60).rounded()) { chore?.minutes = minutes }
      chore?.isAtWork = shared.isAtWork
    },
    merge: { merge in
      // Both have given it another name: it has both.
      guard merge.conflicts.contains("name"), case .string(let theirs)? = merge.remote?["name"],
        case .string(let ours)?? = merge.pending["name"]
      else { return }
      merge.keep("name", .string(theirs + " / " + ours))
    })
}
