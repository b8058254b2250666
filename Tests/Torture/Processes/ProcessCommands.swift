import ArgumentParser

/// The programmes of this directory.
enum ProcessCommands {
  static let all: [any ParsableCommand.Type] = []
}
