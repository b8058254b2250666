import Cairn

/// Something to do: each property is a field of a record in the table `todos`.
struct Todo: TableModel {
  static let table = "todos"
  static let rules: [String: ResolutionRule] = [
    "priority": .max,  // who finds it more urgent is right
    "postponed": .sum,  // each time counts, whoever put it off
  ]

  var title: String
  var isDone = false
  var priority = 0
  var postponed = 0
  var steps: [String] = []
}
