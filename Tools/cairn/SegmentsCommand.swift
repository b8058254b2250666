import ArgumentParser
import Cairn
import CairnToolText

struct SegmentsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "segments",
    abstract: "Lists the files of the log: frames, bytes, and how each ends.",
    discussion: """
      A folded segment's content is in the snapshot; it is kept at least until its deltas are \
      published.
      """)

  @OptionGroup var store: InspectionOptions
  @OptionGroup var report: ReportOptions

  func run() throws {
    let inspector = try store.inspector()
    defer { inspector.close() }
    let segments = try inspector.segments()
    try report.print(
      ["segments": .array(segments.map(json))],
      text: columns(segments.map(row)) + [counted(segments.count, "segment")])
  }

  private func json(_ segment: DatastoreInspector.Segment) -> JSON {
    [
      "file": .string(segment.file), "frames": .count(segment.frames),
      "bytes": .count(segment.bytes), "lastOwnDelta": .count(segment.lastOwnDelta),
      "sealed": .bool(segment.isSealed), "folded": .bool(segment.isFolded),
      "problem": .optional(segment.problem),
    ]
  }

  private func row(_ segment: DatastoreInspector.Segment) -> [String] {
    [
      segment.file, counted(segment.frames, "frame"), "\(segment.bytes) bytes",
      segment.isFolded ? "folded" : "live",
      segment.problem ?? (segment.isSealed ? "sealed" : "open"),
    ]
  }
}
