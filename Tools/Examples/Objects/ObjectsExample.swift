import Cairn
import Foundation

/// Two devices with objects of their own shape, two folders, a queue that can be looked at, and a
/// merge that the app decides.
@main
struct ObjectsExample {
  static func main() async throws {
    let place = FileManager.default.temporaryDirectory.path + "/cairn-objects-\(UUID().uuidString)"
    defer {
      // The system empties its temporary directory by itself, too.
      try? FileManager.default.removeItem(atPath: place)
    }
    let laptop = try await Device("laptop", in: place)
    let phone = try await Device("phone", in: place)
    try await writeDown(on: laptop)
    try await laptop.objects.exchange()
    try await phone.objects.exchange()
    try phone.show("\nFetched")
    try await editApart(laptop, phone)
    for device in [laptop, phone, laptop] { try await device.objects.exchange() }
    try laptop.show("\nMerged")
    try phone.show("\nMerged")
    let drafts = try phone.objects.objects(Draft.self).count
    print("\nThe phone has \(drafts) of the laptop's drafts.")
    try await laptop.close()
    try await phone.close()
  }

  private static func writeDown(on laptop: Device) async throws {
    laptop.objects.suspend()
    try await laptop.objects.write { objects throws(CairnError) in
      try objects.insert(Chore(title: "Dishes", minutes: 30, isFolded: true), id: "dishes")
      try objects.insert(Chore(title: "Report", minutes: 123, isAtWork: true), id: "report")
      try objects.insert(Draft(text: "what the report really says"))
    }
    try laptop.show("Written down")
    try await laptop.showQueue()
    laptop.objects.resume()
  }

  private static func editApart(_ laptop: Device, _ phone: Device) async throws {
    try await laptop.objects.write { objects throws(CairnError) in
      try objects.update(Chore.self, "dishes") { ($0.title, $0.minutes) = ("Dishes and pans", 45) }
    }
    try await phone.objects.write { objects throws(CairnError) in
      try objects.update(Chore.self, "dishes") { ($0.title, $0.minutes) = ("Dry the dishes", 40) }
      // It is done at home now: it leaves one folder for the other.
      try objects.update(Chore.self, "report") { $0.isAtWork = false }
    }
  }
}
