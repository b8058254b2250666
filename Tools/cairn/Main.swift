import ArgumentParser
import Cairn
import CairnToolText

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs the command and turns whatever it throws into a message and an exit status.
@main
enum Main {
  static func main() async {
    Descriptor.occupyStreams()
    Descriptor.widenScreen()
    do {
      var command = try CairnTool.parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      finish(error)
    }
  }

  private static func finish(_ error: any Error) -> Never {
    if let error = error as? CairnError { fail(ToolError(error)) }
    if let error = error as? ToolError { fail(error) }
    if let status = error as? ExitCode { exit(status.rawValue) }
    let message = CairnTool.fullMessage(for: error)
    if CairnTool.exitCode(for: error) == .success {
      // Help or the version.
      do { try Console.print(message) } catch { exit(ExitStatus.failure.rawValue) }
      exit(ExitStatus.success.rawValue)
    }
    fail(ToolError.usage(message), prefix: "")
  }

  private static func fail(_ error: ToolError, prefix: String = "cairn: ") -> Never {
    // Read from the arguments, since what failed may be their parsing.
    let isJSON = CommandLine.arguments.contains("--json")
    Console.error(isJSON ? error.json.text : prefix + error.message)
    exit(error.status.rawValue)
  }
}
