import ArgumentParser

/// The programmes of this directory.
enum BytesCommands {
  static let all: [any ParsableCommand.Type] = [FlipsCommand.self, SeedsCommand.self]
}
