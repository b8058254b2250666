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
    let info = LostEnd.info(datastore.directory, disk: datastore.root.disk)
    do throws(StoreError) { datastore.segments = try inspection.segments() } catch {
      return [datastore.finding(name, .error, error.message, command: datastore.repair)]
    }
    var findings = inspection.missingFirst(of: datastore.segments).map { error in
      [datastore.finding(name, error, "the datastore can't be opened")]
    } ?? []
    var order = inspection.order(of: datastore.segments)
    var here = LostEnd.base(inspection.snapshotPath, disk: datastore.root.disk)
    for segment in datastore.segments {
      if let problem = segment.problem, !segment.isTorn {
        findings.append(datastore.finding(name, problem))
      }
      do throws(StoreError) {
        var (time, hasCuts) = (datastore.ownTime, datastore.hasCuts)
        try inspection.deltas(segment, following: &order) { delta in
          if !delta.isFetched { time = max(time ?? .min, delta.time) }
          hasCuts = hasCuts || delta.tables.contains(Cut.table)
          here?.insert(delta.dot)
        }
        (datastore.ownTime, datastore.hasCuts) = (time, hasCuts)
      } catch {
        if let log = error.log { findings.append(datastore.finding(name, log)) }
      }
    }
    // Of what is damaged nobody knows how many deltas it has.
    if findings.isEmpty { datastore.here = here }
    return findings + end(datastore, current, info)
  }

  /// The end of the log: half written, or gone.
  private static func end(
    _ datastore: ExaminedDatastore, _ current: CurrentFile, _ info: InfoFile?
  ) -> [Finding] {
    // Its writer is at it.
    if datastore.holder != nil { return [] }
    let directory = datastore.directory
    let lost =
      datastore.isFollowed
      ? nil : datastore.here.flatMap { LostEnd.message(directory, current, info, here: $0) }
    var findings: [Finding] = []
    if let torn = datastore.segments.last, torn.isTorn, let problem = torn.problem {
      let what =
        lost == nil
        ? "nothing that was acknowledged is in it, unless it rotted" : "what was in it is lost"
      findings.append(
        datastore.finding(
          name, .warning, "\(problem); \(what). The next opening cuts it off and keeps it in "
            + FileName.quarantine, file: problem.path, offset: problem.offset,
          // Whoever cuts it off now writes INFO anew.
          command: lost == nil ? datastore.root.command("status", on: datastore.id) : nil))
    }
    guard let lost else { return findings }
    findings.append(
      datastore.finding(
        name, .error, lost, file: directory + "/" + FileName.info,
        command: current.isLinked && datastore.root.account != nil ? datastore.sync : nil))
    return findings
  }
}
