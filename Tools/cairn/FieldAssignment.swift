import ArgumentParser
import Cairn
import CairnToolText

/// `field=value` on the command line.
///
/// A value that begins with `"`, `[` or `{` is JSON (so `'""'` is the empty string and `'"12"'` a
/// string); anything else is typed like a bare CSV cell: 12 an int, 1.5 a double, true a boolean,
/// the rest a string.
struct FieldAssignment: Sendable {
  var field: String
  var value: Value

  static let help = """
    VALUES: field=12 is an integer, 1.5 a double, true and false are booleans, anything else is a \
    string. A value that begins with ", [ or { is JSON: '"12"' is a string, '[1,2]' a list, \
    '{"$date":0}' a date in milliseconds since 1970, '{"$bytes":"AAE="}' bytes. Attachments: see \
    cairn blob put.
    """

  /// Throws a sentence that says what is wrong with it.
  static func parse(_ argument: String) throws -> FieldAssignment {
    guard let equals = argument.firstIndex(of: "=") else {
      throw ValidationError("write field=value")
    }
    let field = String(argument[..<equals])
    guard Table.isValidField(field) else {
      throw ValidationError("\(JSON.string(field).text) can't be a field's name")
    }
    let value = try value(String(argument[argument.index(after: equals)...]))
    return FieldAssignment(field: field, value: value)
  }

  static func value(_ text: String) throws -> Value {
    guard let first = text.utf8.first, [0x22, 0x5B, 0x7B].contains(first) else {
      return ScalarText.value(text)
    }
    do {
      if let value = try Value.from(JSONParser.parse(Array(text.utf8))) { return value }
      throw ValidationError("null is no value")
    } catch let error as SyntaxError {
      throw ValidationError("it is no JSON: \(error.message), at byte \(error.offset + 1) of it")
    } catch let error as ValueProblem {
      throw ValidationError(error.message)
    }
  }
}
