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
}
