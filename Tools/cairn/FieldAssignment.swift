import ArgumentParser
import Cairn
import CairnToolText

/// `field=value` on the command line.
///
/// A value that begins with `"`, `[` or `{` is JSON (so `'""'` is the empty string and `'"12"'` a
/// string); anything else is typed like a bare CSV cell: 12 an int, 1.5 a double, true a boolean,
/// the rest a string.
struct FieldAssignment: ExpressibleByArgument {
  var field: String
  var value: Value

  static let help = """
    VALUES: field=12 is an integer, 1.5 a double, true and false are booleans, anything else is a \
    string. A value that begins with ", [ or { is JSON: '"12"' is a string, '[1,2]' a list, \
    '{"$date":0}' a date in milliseconds since 1970, '{"$bytes":"AAE="}' bytes. Attachments: see \
    cairn blob put.
    """

  init?(argument: String) {
    guard let equals = argument.firstIndex(of: "=") else { return nil }
    field = String(argument[..<equals])
    guard Table.isValidField(field),
      let value = Self.value(String(argument[argument.index(after: equals)...]))
    else { return nil }
    self.value = value
  }

  static func value(_ text: String) -> Value? {
    guard let first = text.utf8.first, [0x22, 0x5B, 0x7B].contains(first) else {
      return ScalarText.value(text)
    }
    do {
      return try Value.from(JSONParser.parse(Array(text.utf8)))
    } catch {
      // The argument parser names the argument; the help says what is valid.
      return nil
    }
  }
}
