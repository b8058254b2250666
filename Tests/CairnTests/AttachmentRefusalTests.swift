import CairnBytes
import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// A folder that refuses every second content is looked at again, lest it be the folder itself;
/// only refusals in a row count.
@Suite struct AttachmentRefusalTests {
  private let bench: FolderWorkbench

  init() throws {
    bench = try FolderWorkbench()
    bench.options.durability = .none
  }

  /// From now on the folder refuses these files. Returns the listings of its contents.
  private func refuse(_ names: [String], _ hook: HookedFolder.Switch) -> Told<String> {
    let lists = Told<String>()
    hook.set { request, path throws(CairnError) in
      if request == .list, path.hasPrefix("b-") { lists.add(path) }
      for name in names where request == .read && path.hasSuffix(name) {
        throw CairnError(.auth, "no", file: path)
      }
    }
    return lists
  }

  @Test func `a thorough look that is given a content between two refusals lists nothing again`()
    async throws
  {
    let hook = HookedFolder.Switch()
    let a = try bench.open("a", hook)
    for number in 1...3 { try a.addPhoto("r\(number)", sample(UInt64(number))) }
    try await a.exchange()
    // In the order in which they are looked at.
    let files = try bench.blobs().sorted()
    try #require(files.count == 3)
    func listings(_ refused: [Int]) async throws -> Int {
      let lists = refuse(refused.map { files[$0] }, hook)
      let repair = try await a.repairFolder()
      #expect(repair.problems.count == refused.count && repair.wasWhole, "\(repair)")
      return lists.all.count
    }
    _ = try await listings([0])
    let one = try await listings([0])
    #expect(try await listings([0, 2]) == one)
    #expect(try await listings([0, 1]) == one + 1)
  }

  @Test func `a round to which a content comes between two refusals lists nothing again`()
    async throws
  {
    let a = try bench.open("a")
    // The smallest one comes first.
    let contents = (1...3).map { sample(UInt64($0), 100 * $0) }
    for (number, bytes) in contents.enumerated() { try a.addPhoto("r\(number)", bytes) }
    try await a.exchange()
    func listings(_ device: String, _ refused: [Int]) async throws -> Int {
      let hook = HookedFolder.Switch()
      let lists = refuse(refused.map { SHA256.hash(contents[$0]).hex + ".blob" }, hook)
      let report = try await bench.open(device, hook).pullAll()
      #expect(report.fetchedAttachments == 3 - refused.count, "\(report)")
      #expect(report.problems.count == refused.count, "\(report)")
      return lists.all.count
    }
    let one = try await listings("b", [0])
    #expect(try await listings("c", [0, 2]) == one)
    #expect(try await listings("d", [0, 1]) == one + 1)
  }
}
