import ArgumentParser

/// Tries to break the datastore in every way that a machine can think of, and counts what it did.
///
/// Each command is one programme. It prints what it did, one figure a line, and ends with status 1
/// at the first thing that does not hold, or if a fault that it is there for was never taken.
@main
struct Torture: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cairn-torture",
    abstract: "Crashes, faults, hostile bytes and years of devices, against the real code.",
    groupedSubcommands: [
      CommandGroup(name: "Crashes", subcommands: CrashCommands.all),
      CommandGroup(name: "Simulation", subcommands: SimulationCommands.all),
      CommandGroup(name: "Processes", subcommands: ProcessCommands.all),
      CommandGroup(name: "Bytes", subcommands: BytesCommands.all),
    ])
}
