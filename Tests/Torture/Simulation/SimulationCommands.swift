import ArgumentParser

/// The programmes of this directory.
enum SimulationCommands {
  static let all: [any ParsableCommand.Type] = [SimulateCommand.self, VariantsCommand.self]
}
