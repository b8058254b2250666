import ArgumentParser
import Cairn
import CairnCDB
import CairnToolText

/// `cairn cdb`: files of keys and values that the public cdb tools read and write.
struct CDBCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cdb",
    abstract: "Makes and reads cdb files, and moves tables to and from them.",
    discussion: """
      A cdb file is a constant map from bytes to bytes in one file. make and dump use the text \
      form of cdbmake and cdbdump: a line +3,5:key->value for each record, with the lengths in \
      bytes, and an empty line at the end.
      """,
    subcommands: [
      CDBMakeCommand.self, CDBDumpCommand.self, CDBGetCommand.self, CDBStatsCommand.self,
      CDBImportCommand.self, CDBExportCommand.self,
    ])

  /// How bytes are shown in JSON.
  static func json(_ bytes: [UInt8]) -> JSON {
    String(validating: bytes, as: UTF8.self).map { .string($0) } ?? Value.bytes(bytes).json
  }
}

/// `--format`, as users say it.
enum CDBFormatChoice: String, ExpressibleByArgument, CaseIterable {
  case cdb
  case cdb64
  case cdb64Hash32

  var format: CDBFormat {
    switch self {
    case .cdb: .cdb
    case .cdb64: .cdb64
    case .cdb64Hash32: .cdb64Hash32
    }
  }
}

/// `--format`, for commands that write.
struct CDBFormatOptions: ParsableArguments {
  @Option(
    name: .long,
    help: "cdb, cdb64 or cdb64Hash32 (default: cdb, and cdb64 when 4 GiB are not enough).")
  var format: CDBFormatChoice?
}
