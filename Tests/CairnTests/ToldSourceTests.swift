import TestSupport
import Testing

@testable import Cairn

/// How far the upload of a large file has come, as far as that can be told.
@Suite struct ToldSourceTests {
  private struct Source: FolderSource {
    let size: UInt64 = 100
    let isBroken = Shared(false)

    func read(_ range: Range<UInt64>) throws(CairnError) -> [UInt8] {
      if isBroken.withLock({ $0 }) { throw CairnError(.fileIO, "it has become shorter") }
      return [UInt8](repeating: 7, count: Int(range.upperBound - range.lowerBound))
    }
  }

  private let gauge = TransferGauge()
  private let source = Source()
  private let told: ToldSource

  init() {
    let job = TransferJob(gauge)
    job.begin()
    job.planPublish(files: 1, bytes: 100)
    told = ToldSource(source, job)
  }

  private var sent: UInt64 { gauge.current.published.bytes }

  @Test func `what is sent again counts once`() throws {
    var counts: [UInt64] = []
    let parts: [Range<UInt64>] = [0..<40, 40..<80, 80..<100]
    // The connection breaks after the second part, and once more in the middle.
    for part in Array(parts[..<2]) + parts + Array(parts[1...]) {
      _ = try told.read(part)
      counts.append(sent)
    }
    #expect(counts == [0, 40, 40, 40, 80, 80, 80])
    #expect(told.reach == 80 && told.size == 100)
    #expect(gauge.current.published.totalBytes == 100 && gauge.current.published.files == 0)
  }

  @Test func `a part that can't be read tells nothing`() throws {
    _ = try told.read(0..<40)
    _ = source.isBroken.exchange(true)
    #expect(throws: CairnError.self) { try told.read(40..<80) }
    #expect(sent == 0 && told.reach == 0)
    _ = source.isBroken.exchange(false)
    _ = try told.read(40..<80)
    #expect(sent == 40 && told.reach == 40)
  }
}
