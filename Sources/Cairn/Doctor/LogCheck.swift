internal import CairnDisk
internal import CairnLog
internal import CairnMerge
internal import CairnStore

/// The segments of the log: none missing, each whole, all deltas readable.
enum LogCheck {
  static let name = "log"

  static func run(_ datastore: inout ExaminedDatastore) -> [Finding] {
    guard let current = datastore.current else { return [] }
    let inspection = StoreInspection(
      unlocked: datastore.directory, current: current, machine: datastore.root.machine)
    do throws(StoreError) { datastore.segments = try inspection.segments() } catch {
      return [datastore.finding(name, .error, error.message, command: datastore.repair)]
    }
    var findings = inspection.missingFirst(of: datastore.segments).map { error in
      [datastore.finding(name, error, "the datastore can't be opened")]
    } ?? []
    for segment in datastore.segments {
      findings += problem(of: segment, datastore)
      do throws(StoreError) {
        var (time, hasCuts) = (datastore.ownTime, datastore.hasCuts)
        try inspection.deltas(segment) { delta in
          if !delta.isFetched { time = max(time ?? .min, delta.time) }
          hasCuts = hasCuts || delta.tables.contains(Cut.table)
        }
        (datastore.ownTime, datastore.hasCuts) = (time, hasCuts)
      } catch {
        if let log = error.log { findings.append(datastore.finding(name, log)) }
      }
    }
    return findings
  }

  private static func problem(
    of segment: StoreInspection.Segment, _ datastore: ExaminedDatastore
  ) -> [Finding] {
    guard let problem = segment.problem else { return [] }
    guard segment.isTorn else { return [datastore.finding(name, problem)] }
    // Its writer is at it.
    if datastore.holder != nil { return [] }
    return [
      datastore.finding(
        name, .warning, "\(problem); nothing that was acknowledged is in it, unless it rotted. The "
          + "next opening cuts it off and keeps it in \(FileName.quarantine)", file: problem.path,
        offset: problem.offset, command: datastore.root.command("status", on: datastore.id))
    ]
  }
}
