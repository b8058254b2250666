import ArgumentParser
import CairnCDB
import CairnToolText

struct CDBStatsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats",
    abstract: "Counts what is in a cdb file, and checks that every record can be found.",
    discussion: """
      d0 are the records that are found at the first look into their table, d1 at the second, \
      and so on.
      """)

  @Argument(help: "File to read.")
  var file: String

  @OptionGroup var report: ReportOptions

  func run() throws {
    let found = try CDBFile(file).statistics()
    let distances = found.distances.enumerated().map { number, count in
      [number < 10 ? "d\(number)" : ">9", "\(count)"]
    }
    try report.print(
      [
        "format": .string(found.format.rawValue), "bytes": .count(found.size),
        "records": .count(found.records), "keys": .count(found.keys),
        "keyBytes": .count(found.keyBytes), "valueBytes": .count(found.valueBytes),
        "distances": .array(found.distances.map { JSON.count($0) }),
      ],
      text: columns(
        [
          ["format", found.format.rawValue], ["bytes", "\(found.size)"],
          ["records", "\(found.records)"], ["keys", "\(found.keys)"],
          ["bytes of keys", "\(found.keyBytes)"], ["bytes of values", "\(found.valueBytes)"],
        ] + distances))
  }
}
