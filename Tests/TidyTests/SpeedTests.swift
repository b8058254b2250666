import Foundation
import TestSupport
import Testing

/// What the README says about speed is what was measured.
@Suite struct SpeedTests {
  @Test func `README and the latest results of the benchmarks agree`() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", ProjectFile.path("Benchmarks/run"), "--check"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let said = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(String(decoding: said, as: UTF8.self))")
  }
}
