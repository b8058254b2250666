import ArgumentParser
import CairnToolText

/// `--json`, in every command.
struct ReportOptions: ParsableArguments {
  @Flag(name: .long, help: "Print one JSON document instead of text; errors too, on stderr.")
  var json = false

  /// Prints a result in the form that was asked for.
  func print(_ document: JSON, text: @autoclosure () throws -> [String]) throws {
    guard !json else { return try Console.print(document.text) }
    let lines = try text()
    if !lines.isEmpty { try Console.print(lines.joined(separator: "\n")) }
  }
}

/// Rows as columns that line up.
func columns(_ rows: [[String]]) -> [String] {
  var widths: [Int] = []
  for row in rows {
    for (index, cell) in row.enumerated() {
      if index == widths.count { widths.append(0) }
      widths[index] = max(widths[index], cell.count)
    }
  }
  return rows.map { row in
    var line = ""
    for (index, cell) in row.enumerated() where !cell.isEmpty {
      let start = widths[..<index].reduce(0) { $0 + $1 + 2 }
      line += String(repeating: " ", count: start - line.count) + cell
    }
    return line
  }
}
