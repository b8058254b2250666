import CairnFuzzBytes
import CairnLog
import CairnMerge

/// A name, as a listing may have it: what is taken for one of ours is just what we would write.
enum NamesEntry {
  static func run(_ bytes: [UInt8]) throws {
    let name = String(decoding: bytes, as: UTF8.self)
    let files: [String?] = [
      FileName.segmentNumber(name).map(FileName.segment),
      FileName.snapshotNumber(name).map(FileName.snapshot),
      FileName.headDevice(name).map { FileName.head(device: $0) },
      FileName.catalogueInstallation(name).map { FileName.catalogue(installation: $0) },
      FileName.published(name).map { FileName.published($0) },
      FileName.sharedSnapshot(name).map { FileName.sharedSnapshot($0) },
      FileName.secret(name).map { FileName.secret($0) },
      FileName.blob(name).map { FileName.blob($0.hash, isOwn: $0.isOwn) },
      FileName.blobPart(name).map { FileName.blobPart($0) },
      FileName.publishedBlob(name).map { FileName.publishedBlob(device: $0.device, $0.hash) },
      FileName.datastore(directory: name).map { FileName.directory(datastore: $0) },
      FileName.generation(directory: name).map {
        FileName.directory(datastore: $0.id, generation: $0.generation)
      },
    ]
    for file in files {
      guard let file else { continue }
      try FuzzFinding.check(
        file.utf8.elementsEqual(name.utf8), "\(name) is taken for a name, which would be \(file)")
    }
    _ = FileName.isTemporary(name)
    _ = FileName.stagingToken(name)
    if Identifier.isValidDatastore(name) {
      try FuzzFinding.check(
        name.utf8.count <= 64 && !name.utf8.contains(0x2F) && !name.utf8.contains(0),
        "an id that no directory could have: \(name)")
    }
    for isValid in [
      Identifier.isValidTable, Identifier.isValidRecord, Identifier.isValidField,
    ] where isValid(name) {
      try FuzzFinding.check(name.utf8.count <= 64, "an id of \(name.utf8.count) bytes")
    }
    let record = RecordName(name)
    try FuzzFinding.check(record.text == name, "a record's id that changes: \(name)")
    if Identifier.isValidDatastore(name) {
      let directory = FileName.directory(datastore: name, generation: UInt32(bytes.count))
      let back = FileName.generation(directory: directory)
      try FuzzFinding.check(
        back?.id == name && back?.generation == UInt32(bytes.count),
        "the directory \(directory) is not found to be that of \(name)")
    }
  }
}
