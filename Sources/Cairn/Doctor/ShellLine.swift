/// A command line that is printed for people to run.
package enum ShellLine {
  /// Its words as a shell takes them.
  package static func of(_ words: [String]) -> String {
    words.map { word in
      let isPlain = word.utf8.allSatisfy {
        (97...122).contains($0) || (65...90).contains($0) || (45...57).contains($0) || $0 == 95
      }
      return isPlain && !word.isEmpty
        ? word
        : "'" + word.split(separator: "'", omittingEmptySubsequences: false)
          .joined(separator: "'\\''") + "'"
    }.joined(separator: " ")
  }

  /// An option and its value. One that begins like an option itself would be taken for one.
  package static func option(_ name: String, _ value: String) -> [String] {
    value.hasPrefix("-") ? ["\(name)=\(value)"] : [name, value]
  }

  /// An argument, and the options beside it. One that begins like an option comes behind them all.
  package static func naming(_ argument: String, _ options: [String]) -> [String] {
    argument.hasPrefix("-") ? options + ["--", argument] : [argument] + options
  }
}
