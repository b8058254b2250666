import ArgumentParser
import Cairn

/// `field=value` on the command line, or with another operator: what a query asks of a field.
struct FieldCondition: ExpressibleByArgument {
  var field: String
  var condition: Query.Condition

  static let help = """
    CONDITIONS: field=12, field!=12, field<12, field<=12, field>12, field>=12, and field^=text for \
    strings that begin with a text. Ranges compare values of one kind only: numbers with numbers, \
    dates with dates, strings with strings.
    """

  init?(argument: String) {
    // No operator's first character but "=" can be in the name of a field.
    guard let start = argument.firstIndex(where: { "=!<>^".contains($0) }) else { return nil }
    field = String(argument[..<start])
    let rest = argument[start...]
    guard Table.isValidField(field),
      let name = ["!=", "<=", ">=", "^=", "=", "<", ">"].first(where: rest.hasPrefix)
    else { return nil }
    let text = String(rest.dropFirst(name.count))
    guard let value = try? FieldAssignment.value(text) else { return nil }
    switch name {
    case "=": condition = .equals(value)
    case "!=": condition = .notEquals(value)
    case "<": condition = .less(value)
    case "<=": condition = .lessOrEqual(value)
    case ">": condition = .greater(value)
    case ">=": condition = .greaterOrEqual(value)
    default:
      if case .string(let prefix) = value {
        condition = .hasPrefix(prefix)
      } else {
        condition = .hasPrefix(text)
      }
    }
  }
}
