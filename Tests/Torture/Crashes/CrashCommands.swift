import ArgumentParser

/// The programmes of this directory.
enum CrashCommands {
  static let all: [any ParsableCommand.Type] = [
    Crashes.self, Errors.self, Orders.self,
  ]
}
