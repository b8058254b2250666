import Cairn
import CairnToolText

/// What one sync published, fetched and merged.
struct SyncSummary {
  /// nil if the exchange failed: what it had done until then is not known.
  let exchange: ExchangeReport?
  let merge: SyncResult
  /// Devices that have not answered what somebody asked.
  let awaited: [String]

  private var deleted: Int { merge.changes.count { $0.isDeleted } }

  /// Whether there is anything to tell although the exchange failed.
  var hasNews: Bool {
    exchange != nil || merge.incorporated > 0 || merge.newDevice != nil || merge.massDelete != nil
      || !merge.changes.isEmpty || !merge.conflicts.isEmpty
  }

  // MARK: for a reader

  var lines: [String] {
    var lines = exchange.map(Self.amounts) ?? []
    lines.append(
      "merged \(counted(merge.incorporated, "delta")): "
        + "\(counted(merge.changes.count - deleted, "record")) changed, \(deleted) deleted")
    if let exchange, Self.hasAttachments(exchange) { lines.append(Self.attachments(exchange)) }
    if let traffic = exchange?.traffic { lines.append(traffic.text) }
    if let id = merge.newDevice { lines.append("this device goes on under a new id, \(id)") }
    if let held = merge.massDelete { lines.append("held: " + held.message) }
    lines += merge.conflicts.map(Self.line)
    if let exchange { lines += Self.waiting(exchange) }
    if !awaited.isEmpty {
      lines.append(
        "not all devices have agreed yet on what may be forgotten; waiting for "
          + awaited.joined(separator: ", "))
    }
    lines += exchange?.problems.map { "problem with \($0.name): \($0.reason)" } ?? []
    return lines
  }

  private static func amounts(_ exchange: ExchangeReport) -> [String] {
    [
      "published "
        + amount(exchange.publishedDeltas, exchange.publishedFiles, exchange.publishedBytes)
        + (exchange.publishedSnapshot ? " and a snapshot" : ""),
      "fetched " + amount(exchange.fetchedDeltas, exchange.fetchedFiles, exchange.fetchedBytes)
        + (exchange.fetchedSnapshot ? " and a snapshot" : ""),
    ]
  }

  private static func attachments(_ exchange: ExchangeReport) -> String {
    "attachments: \(exchange.publishedAttachments) published "
      + "(\(exchange.publishedAttachmentBytes) bytes), \(exchange.fetchedAttachments) fetched "
      + "(\(exchange.fetchedAttachmentBytes) bytes), \(exchange.missingAttachments) missing"
      + (exchange.skippedAttachments > 0
        ? ", \(exchange.skippedAttachments) too large for this device" : "")
  }

  private static func waiting(_ exchange: ExchangeReport) -> [String] {
    let waiting = exchange.waiting.map { file in
      "waiting for \(file.name)" + (file.bytes > 0 ? ", \(file.bytes) bytes" : "")
        + ": \(file.reason)"
    }
    // Their reasons begin with that word.
    return waiting + exchange.held.map { "\($0.name) \($0.reason)" }
  }

  private static func hasAttachments(_ exchange: ExchangeReport) -> Bool {
    exchange.publishedAttachments + exchange.fetchedAttachments + exchange.missingAttachments
      + exchange.skippedAttachments > 0
  }

  private static func amount(_ deltas: UInt64, _ files: Int, _ bytes: UInt64) -> String {
    guard files > 0 else { return "nothing" }
    return "\(counted(Int(clamping: deltas), "delta")) in \(counted(files, "file"))"
      + " (\(bytes) bytes)"
  }

  static func line(_ conflict: SyncResult.Conflict) -> String {
    let losers = conflict.losers.map { loser in
      "\(text(loser.value)) of device \(loser.device), \(loser.time.text)"
    }
    return "conflict \(conflict.table)/\(conflict.id) \(conflict.field): rule "
      + "\(conflict.rule.rawValue) chose \(text(conflict.visible)) over "
      + losers.joined(separator: " and ")
  }

  private static func text(_ value: Value?) -> String { value?.json.text ?? "removal" }

  // MARK: for a program

  var json: JSON {
    // All members are there whatever happened; what an exchange that failed has done is null.
    guard let exchange else { return document(published: .null, fetched: .null) }
    return document(
      published: Self.amountJSON(
        exchange.publishedDeltas, exchange.publishedFiles, exchange.publishedBytes,
        exchange.publishedSnapshot),
      fetched: Self.amountJSON(
        exchange.fetchedDeltas, exchange.fetchedFiles, exchange.fetchedBytes,
        exchange.fetchedSnapshot))
  }

  private func document(published: JSON, fetched: JSON) -> JSON {
    let exchange = self.exchange ?? ExchangeReport()
    return [
      "published": published, "fetched": fetched,
      "merged": [
        "deltas": .count(merge.incorporated),
        "changed": .count(merge.changes.count - deleted), "deleted": .count(deleted),
      ],
      "attachments": [
        "published": .count(exchange.publishedAttachments),
        "publishedBytes": .count(exchange.publishedAttachmentBytes),
        "fetched": .count(exchange.fetchedAttachments),
        "fetchedBytes": .count(exchange.fetchedAttachmentBytes),
        "missing": .count(exchange.missingAttachments),
        "skipped": .count(exchange.skippedAttachments),
      ],
      "newDevice": merge.newDevice.map(JSON.string) ?? .null,
      "massDelete": merge.massDelete.map(Self.json) ?? .null,
      "conflicts": .array(merge.conflicts.map(Self.json)),
      "waiting": Self.waitingJSON(exchange.waiting), "held": Self.waitingJSON(exchange.held),
      "awaited": .array(awaited.map(JSON.string)),
      "problems": .array(
        exchange.problems.map { ["name": .string($0.name), "reason": .string($0.reason)] }),
      "requests": .count(exchange.traffic?.requests ?? exchange.requests),
      "traffic": exchange.traffic?.json ?? .null,
      "devices": .count(exchange.devices),
    ]
  }

  private static func amountJSON(
    _ deltas: UInt64, _ files: Int, _ bytes: UInt64, _ snapshot: Bool
  ) -> JSON {
    [
      "deltas": .count(deltas), "files": .count(files), "bytes": .count(bytes),
      "snapshot": .bool(snapshot),
    ]
  }

  private static func waitingJSON(_ files: [ExchangeReport.Waiting]) -> JSON {
    .array(
      files.map {
        ["name": .string($0.name), "bytes": .count($0.bytes), "reason": .string($0.reason)]
      })
  }

  static func json(_ held: MassDelete) -> JSON {
    [
      "records": .count(held.records), "recordsHere": .count(held.recordsHere),
      "devices": .array(
        held.devices.map {
          ["device": .string($0.id), "user": .string($0.user), "records": .count($0.records)]
        }),
    ]
  }

  static func json(_ conflict: SyncResult.Conflict) -> JSON {
    [
      "table": .string(conflict.table), "id": .string(conflict.id.description),
      "field": .string(conflict.field), "rule": .string(conflict.rule.rawValue),
      "chosen": conflict.visible?.json ?? .null,
      "lost": .array(
        conflict.losers.map { loser in
          [
            "value": loser.value?.json ?? .null, "device": .string(loser.device),
            "time": .int(loser.time.millisecondsSince1970),
          ]
        }),
    ]
  }
}
