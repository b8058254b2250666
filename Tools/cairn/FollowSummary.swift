import Cairn
import CairnToolText

/// What one pull of a followed datastore brought, and what is here now.
struct FollowSummary {
  let pull: ExchangeReport
  let id: String
  let tables: Int
  let records: Int

  var lines: [String] {
    var lines = [
      "\(id): \(counted(Int(clamping: pull.fetchedDeltas), "delta")) in "
        + "\(counted(pull.fetchedFiles, "file")) fetched (\(pull.fetchedBytes) bytes)"
        + (pull.fetchedSnapshot ? ", a snapshot among them" : "")
        + "; \(counted(records, "record")) in \(counted(tables, "table")) here"
    ]
    if pull.fetchedAttachments + pull.missingAttachments + pull.skippedAttachments > 0 {
      lines.append(
        "attachments: \(pull.fetchedAttachments) fetched (\(pull.fetchedAttachmentBytes) bytes), "
          + "\(pull.missingAttachments) missing"
          + (pull.skippedAttachments > 0
            ? ", \(pull.skippedAttachments) too large for this device" : ""))
    }
    if let traffic = pull.traffic { lines.append(traffic.text) }
    lines += pull.waiting.map { file in
      "waiting for \(file.name)" + (file.bytes > 0 ? ", \(file.bytes) bytes" : "")
        + ": \(file.reason)"
    }
    lines += pull.problems.map { "problem with \($0.name): \($0.reason)" }
    return lines
  }

  var json: JSON {
    [
      "datastore": .string(id), "tables": .count(tables), "records": .count(records),
      "fetched": [
        "deltas": .count(Int(clamping: pull.fetchedDeltas)), "files": .count(pull.fetchedFiles),
        "bytes": .count(Int(clamping: pull.fetchedBytes)), "snapshot": .bool(pull.fetchedSnapshot),
      ],
      "attachments": [
        "fetched": .count(pull.fetchedAttachments),
        "fetchedBytes": .count(Int(clamping: pull.fetchedAttachmentBytes)),
        "missing": .count(pull.missingAttachments), "skipped": .count(pull.skippedAttachments),
      ],
      "waiting": .array(
        pull.waiting.map {
          ["name": .string($0.name), "bytes": .count($0.bytes), "reason": .string($0.reason)]
        }),
      "problems": .array(
        pull.problems.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
      "requests": .count(pull.traffic?.requests ?? pull.requests),
      "traffic": pull.traffic?.json ?? .null, "devices": .count(pull.devices),
    ]
  }
}
