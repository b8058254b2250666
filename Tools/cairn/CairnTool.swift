import ArgumentParser
import Cairn

/// `cairn`: looks into datastores, changes them, and moves data in and out.
struct CairnTool: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cairn",
    abstract: "Works on Cairn datastores: tables of records that sync through a shared folder.",
    discussion: """
      A datastore is used by one process at a time: a command fails while an app has it open, and \
      commits what it did before it ends.

      \(ExitStatus.explanation)
      """,
    version: "0.1.0",
    groupedSubcommands: [
      CommandGroup(
        name: "Data",
        subcommands: [
          ImportCommand.self, ExportCommand.self, TablesCommand.self, QueryCommand.self,
          GetCommand.self, SetCommand.self, DeleteCommand.self, ListFieldCommand.self,
          BlobCommand.self, RulesCommand.self, CDBCommand.self,
        ] + serverCommands),
      CommandGroup(
        name: "Datastores",
        subcommands: [ListCommand.self, TitleCommand.self, MigrateCommand.self]),
      CommandGroup(
        name: "Devices",
        subcommands: [
          SyncCommand.self, WatchCommand.self, FollowCommand.self, UnfollowCommand.self,
          StatusCommand.self, DevicesCommand.self, RolesCommand.self,
        ]),
      CommandGroup(
        name: "Files",
        subcommands: [
          DoctorCommand.self, RepairCommand.self, TrashCommand.self, LogCommand.self,
          SegmentsCommand.self, StatCommand.self, VerifyCommand.self, CompactCommand.self,
        ]),
    ])

  /// Those that need a network library.
  private static var serverCommands: [any ParsableCommand.Type] {
    #if CAIRN_SERVERS
      [PullCommand.self]
    #else
      []
    #endif
  }
}
