import Foundation
import Testing

/// A program in a process of its own, and the most memory that it ever had.
enum PeakMemory {
  struct Outcome {
    var status: Int32
    var bytes: Int
  }

  /// Runs a program without input or output until it ends.
  static func of(
    _ program: String, _ arguments: [String], environment: [String: String]
  ) throws -> Outcome {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    var peak = 0
    // It only grows, and what it was is gone with the process: the last look is good enough.
    while process.isRunning {
      peak = max(peak, current(process.processIdentifier) ?? 0)
      Thread.sleep(forTimeInterval: 0.002)
    }
    process.waitUntilExit()
    // Where nobody says how much it is, nothing is proven.
    try #require(peak > 0)
    return Outcome(status: process.terminationStatus, bytes: peak)
  }

  private static func current(_ process: Int32) -> Int? {
    let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = text?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
  }
}
