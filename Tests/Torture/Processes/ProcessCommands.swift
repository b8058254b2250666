import ArgumentParser

/// The programmes of this directory.
enum ProcessCommands {
  static let all: [any ParsableCommand.Type] = [
    KillsCommand.self, CallsCommand.self, FailuresCommand.self, CutsCommand.self,
    BlocksCommand.self, FullCommand.self, RacesCommand.self,
    WriteCommand.self, CheckCommand.self, RaceCommand.self,
  ]
}
