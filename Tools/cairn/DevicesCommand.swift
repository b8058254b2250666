import ArgumentParser
import Cairn
import CairnToolText

struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "Lists the devices that have published in the shared folder.",
    discussion: """
      It reads the folder and changes nothing. A local datastore has one device. With --retire, a \
      device that is lost or will never come back is left out, as one commit, which is published, \
      after an exchange and a merge: the others stop waiting for it. That can't be undone. If it \
      comes back with changes that nobody has seen, it goes on under a new id. While it has \
      published what is not merged here, it is not retired, unless --anyway is given.
      """)

  @Option(help: ArgumentHelp("Retires the device of this id.", valueName: "id"))
  var retire: String?

  @Flag(help: "Retires it though not all that it has published is merged here.")
  var anyway = false

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    let datastore = try store.open(retire == nil ? .reading : .writing)
    let devices: [DeviceInfo]
    var retirement: Retirement?
    do {
      if let retire { retirement = try await leaveOut(retire, datastore) }
      devices = datastore.manager.isLocal ? [] : try await datastore.devices()
    } catch {
      // The first error says more than what closing might add.
      do { try datastore.close() } catch {}
      throw error
    }
    let here = datastore.device
    try datastore.close()
    var result: JSON = ["thisDevice": .string(here), "devices": .array(devices.map(json))]
    if let retirement { result = result.adding("retirement", retirement.json) }
    try report.print(
      result,
      text: (devices.isEmpty
        ? ["\(here)  this device, which has published nothing"] : columns(devices.map(row)))
        + (retirement?.lines ?? []))
  }

  /// What a retirement did.
  private struct Retirement {
    var device: String
    var user: String?
    /// Deltas that it has published and that are not merged here.
    var unmerged: UInt64
    /// Devices that nobody named, and that were left out with it.
    var others: [String]
    var isPublished: Bool
    var exchange: ExchangeReport

    var lines: [String] {
      let name = device + (user.map { " (\($0.onOneLine))" } ?? "")
      var lines = ["retired \(name): each device stops waiting for it when it has exchanged"]
      if unmerged > 0 {
        lines.append(
          "\(counted(Int(clamping: unmerged), "delta")) that it has published and nobody has "
            + "merged stay out, unless it comes back")
      }
      if !others.isEmpty {
        lines.append(
          "retired with it, since what they wrote does not go with an earlier agreement and is "
            + "held: " + others.joined(separator: ", ") + "; they go on under new ids")
      }
      lines.append(
        "this can't be undone; if it comes back with changes that nobody has seen, it goes on "
          + "under a new id")
      if !isPublished { lines.append("this is not published yet: it takes another cairn sync") }
      lines += exchange.waiting.map { "waiting for \($0.name): \($0.reason)" }
      lines += exchange.problems.map { "problem with \($0.name): \($0.reason)" }
      return lines
    }

    var json: JSON {
      [
        "device": .string(device), "unmerged": .count(unmerged),
        "others": .array(others.map(JSON.string)), "published": .bool(isPublished),
        "waiting": .count(exchange.waiting.count), "problems": .count(exchange.problems.count),
      ]
    }
  }

  /// Takes in what there is, leaves the device out, and publishes that.
  private func leaveOut(_ id: String, _ datastore: Datastore) async throws -> Retirement {
    // It says what is wrong, and nothing needs to be fetched for that.
    if datastore.manager.isLocal { try datastore.retireDevice(id) }
    if id == datastore.device {
      throw ToolError.usage(
        "\(id) is this device itself; run cairn devices --retire on another one")
    }
    try await SyncRounds.run(datastore)
    let before = try await datastore.devices()
    let found = before.first { $0.id == id }
    guard found != nil || datastore.hasMerged(id) else {
      throw ToolError.notFound("no device \(id) has written here; see cairn devices")
    }
    let unmerged = found.map { $0.publishedDeltas - $0.incorporatedDeltas } ?? 0
    if let found, unmerged > 0, !anyway {
      throw ToolError(
        .failure, "notMerged",
        "device \(id) has published \(counted(Int(clamping: found.publishedDeltas), "delta")), of "
          + "which \(found.incorporatedDeltas) are merged here; nobody would merge the rest any "
          + "more. See with cairn sync what they wait for, and retire the device when all are "
          + "merged; or give them up with --anyway")
    }
    try datastore.retireDevice(id, givingUp: anyway)
    try datastore.sync()
    let exchange = try await datastore.exchange()
    let earlier = before.filter(\.isRetired).map(\.id) + [id]
    let others = try await datastore.devices().filter {
      $0.isRetired && !earlier.contains($0.id)
    }
    return Retirement(
      device: id, user: found?.user, unmerged: unmerged, others: others.map(\.id),
      isPublished: datastore.publishedDeltas >= datastore.committedDeltas, exchange: exchange)
  }

  private func json(_ device: DeviceInfo) -> JSON {
    [
      "device": .string(device.id), "user": .string(device.user),
      "thisDevice": .bool(device.isThisDevice), "retired": .bool(device.isRetired),
      "awaited": .bool(device.isAwaited),
      "published": .count(device.publishedDeltas),
      "merged": .count(device.incorporatedDeltas), "files": .count(device.files),
      "bytes": .count(device.bytes),
      "acknowledged": .object(
        device.acknowledged.sorted { $0.key < $1.key }.map {
          JSON.Member(name: $0.key, value: .count($0.value))
        }),
    ]
  }

  private func row(_ device: DeviceInfo) -> [String] {
    [
      device.id, JSON.string(device.user).text,
      "published " + counted(Int(clamping: device.publishedDeltas), "delta"),
      "\(device.incorporatedDeltas) merged here",
      "\(counted(device.files, "file")) of \(device.bytes) bytes",
      [
        device.isThisDevice ? "this device" : nil, device.isRetired ? "retired" : nil,
        device.isAwaited ? "the others wait for its word" : nil,
      ].compactMap(\.self).joined(separator: ", "),
    ]
  }
}
