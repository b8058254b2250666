import ArgumentParser
import Cairn
import CairnToolText

struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "Lists the devices that have published in the shared folder.",
    discussion: """
      It reads the folder and changes nothing. A local datastore has one device. With --retire, a \
      device that is lost or will never come back is left out, as one commit, which is published: \
      the others stop waiting for it.
      """)

  @Option(help: ArgumentHelp("Retires the device of this id.", valueName: "id"))
  var retire: String?

  @OptionGroup var store: StoreOptions
  @OptionGroup var report: ReportOptions

  func run() async throws {
    let datastore = try store.open(retire == nil ? .reading : .writing)
    let devices: [DeviceInfo]
    do {
      if let retire {
        try datastore.retireDevice(retire)
        try datastore.sync()
        try await datastore.exchange()
      }
      devices = datastore.manager.isLocal ? [] : try await datastore.devices()
    } catch {
      // The first error says more than what closing might add.
      do { try datastore.close() } catch {}
      throw error
    }
    let here = datastore.device
    try datastore.close()
    try report.print(
      ["thisDevice": .string(here), "devices": .array(devices.map(json))],
      text: devices.isEmpty
        ? ["\(here)  this device, which has published nothing"] : columns(devices.map(row)))
  }

  private func json(_ device: DeviceInfo) -> JSON {
    [
      "device": .string(device.id), "user": .string(device.user),
      "thisDevice": .bool(device.isThisDevice), "retired": .bool(device.isRetired),
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
      device.isThisDevice ? "this device" : device.isRetired ? "retired" : "",
    ]
  }
}
