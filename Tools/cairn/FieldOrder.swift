import ArgumentParser
import Cairn

/// `field` or `field:desc` on the command line: what a result is sorted by.
struct FieldOrder: ExpressibleByArgument {
  var field: String
  var order: Query.SortOrder

  init?(argument: String) {
    let isDescending = argument.hasSuffix(":desc")
    field = isDescending ? String(argument.dropLast(5)) : argument
    order = isDescending ? .descending : .ascending
    guard Table.isValidField(field) else { return nil }
  }
}
