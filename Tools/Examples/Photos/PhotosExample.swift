import Cairn
import Foundation

/// A camera and a tablet share an album: the records at once, small pictures by themselves, the
/// large ones when somebody wants to see them.
@main
struct PhotosExample {
  let camera: Datastore
  let tablet: Datastore

  static func main() async throws {
    let place = FileManager.default.temporaryDirectory.path + "/cairn-photos-\(UUID().uuidString)"
    defer {
      // The system empties its temporary directory by itself, too.
      try? FileManager.default.removeItem(atPath: place)
    }
    try await PhotosExample(in: place).run()
  }

  init(in place: String) throws {
    let account = Account(user: "ana", folder: .directory(place + "/shared"))
    camera = try DatastoreManager(root: place + "/camera", account: account).openDefaultDatastore()
    var options = Options()
    options.attachments = AttachmentPolicy { use in
      use.field == "thumbnail" ? .always(priority: 1) : .onDemand
    }
    tablet = try DatastoreManager(root: place + "/tablet", account: account, options: options)
      .openDefaultDatastore()
  }

  func run() async throws {
    try takePictures()
    let sent = try await camera.exchange()
    print("Published \(sent.publishedAttachments) contents, then the records that name them.")
    try await tablet.exchange()
    try tablet.sync()
    try await tablet.exchange()
    print("\nOn the tablet:")
    try showAlbum()
    try await look(at: "shed")
    print("\nAfter a look at the shed:")
    try showAlbum()
    try await forget("gate")
    try camera.close()
    try tablet.close()
  }

  private func takePictures() throws {
    let album = try camera.table("album")
    for (index, title) in ["shed", "gate"].enumerated() {
      let photo = try album.insert(["title": .string("The " + title)], id: RecordID(title))
      try photo.attach("thumbnail", pixels(index, count: 2_000))
      // As it comes from the sensor, row by row: nothing of it stays in memory.
      let picture = try camera.attach { writer throws(CairnError) in
        for row in 0..<600 { try writer.write(pixels(row + index, count: 4_000)) }
      }
      try photo.set("picture", picture)
    }
    try camera.sync()
  }

  private func pixels(_ seed: Int, count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &+ seed) &* 31) }
  }

  private func showAlbum() throws {
    for record in try tablet.table("album").query().sorted(by: { $0.id < $1.id }) {
      let title = try record.string("title") ?? "untitled"
      for field in ["thumbnail", "picture"] {
        guard let attachment = try record.attachment(field) else { continue }
        print("\(title), \(field): \(attachment.length) bytes, \(try attachment.state.rawValue)")
      }
    }
  }

  private func look(at id: RecordID) async throws {
    guard let picture = try tablet.table("album")[id].attachment("picture") else { return }
    for try await piece in picture.chunks { precondition(piece.count <= 256 << 10) }
  }

  private func forget(_ id: RecordID) async throws {
    try camera.table("album")[id].delete()
    try camera.sync()
    try await camera.exchange()
    for _ in 0..<2 {
      try await tablet.exchange()
      try tablet.sync()
    }
    try await tablet.exchange()
    let gone = try await camera.collectAttachments(graceSeconds: 0)
    print("\nThe gate is deleted: \(gone.removedInFolder) contents left the folder.")
  }
}
