import Cairn
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A disk that refuses writes below a real ext4, while a store is open on it.
struct FailingDisk {
  let random: SeededRandom

  func run(_ workplace: Workplace, _ ledger: inout Ledger) async throws {
    let disk = try BlockDisk(workplace.path)
    try lie(disk, &ledger)
    for round in 0..<20 {
      do { try fail(disk, round, &ledger) } catch {
        throw TortureFailure("round \(round) on a disk that fails: \(error)")
      }
    }
    ledger.count("requests refused", disk.server.refused)
    try disk.unmount()
    try disk.remove()
  }

  /// Why a failed sync is the end: the one after it says yes, and the bytes are not on the disk.
  private func lie(_ disk: BlockDisk, _ ledger: inout Ledger) throws {
    let path = disk.mountPoint + "/plain"
    try TextFile.write(path, [UInt8](repeating: 1, count: 4096))
    let file = unsafe open(path, O_RDWR | O_CLOEXEC)
    guard file >= 0, fsync(file) == 0 else { throw TortureFailure("the disk fails already") }
    disk.server.fail()
    let two = [UInt8](repeating: 2, count: 4096)
    unsafe pwrite(file, two, 4096, 0)
    let first = fdatasync(file)
    disk.server.mend()
    let second = fdatasync(file)
    close(file)
    let shown = TextFile.bytes(path).first
    try again(disk)
    let kept = TextFile.bytes(path).first
    guard first != 0 else {
      throw TortureFailure("a sync on a disk that refuses everything worked")
    }
    if second == 0, shown == 2, kept == 1 { ledger.took("sync that lied") }
  }

  /// As after a failure that a user sees: unmounted, mounted again.
  private func again(_ disk: BlockDisk) throws {
    try disk.unmount()
    try disk.mount()
  }

  private func fail(_ disk: BlockDisk, _ round: Int, _ ledger: inout Ledger) throws {
    let place = StorePlace(root: disk.mountPoint + "/store\(round)")
    let content = Content(writer: "a", seed: random.next(), payload: 2000)
    var acked = 0
    let datastore = try place.open()
    for n in 1...(1 + random.below(60)) {
      try content.apply(n, to: datastore)
      try datastore.sync()
      acked = n
    }
    // For good, or one request and then never again: a second sync would be told that all is well.
    let isShort = round % 2 == 1
    let refused = disk.server.refused
    disk.server.fail(isShort ? 1 : Int.max)
    let (refusal, last) = try refuse(datastore, content, &acked, mayAccept: isShort)
    disk.server.mend()
    if disk.server.refused > refused {
      ledger.took(isShort ? "disk that failed once" : "disk that failed")
    } else {
      ledger.count("missed")
    }
    ledger.count("refused with \(refusal?.code.rawValue ?? "nothing")")
    if let refusal, refusal.code == .syncFailed {
      // The disk is well again, and its oath still worth nothing.
      var second: CairnError?
      do throws(CairnError) { try datastore.sync() } catch { second = error }
      guard second?.code == .syncFailed else {
        throw TortureFailure("a sync after a failed one: \(second?.description ?? "believed")")
      }
      ledger.took("a store that trusts no sync")
    }
    // Closing it is all that is left.
    try? datastore.close()
    try again(disk)
    var finding = Finding()
    let checker = Checker(place: place, contents: [content])
    let standing = try checker.check(acked: acked, atMost: last, &finding)[0]
    let reopened = try place.open()
    try content.apply(standing + 1, to: reopened)
    try reopened.sync()
    try reopened.close()
    try checker.checkFiles()
    try TextFile.removeTree(place.root)
  }

  /// Commits until one is refused; the error and the number of the last commit.
  private func refuse(
    _ datastore: Datastore, _ content: Content, _ acked: inout Int, mayAccept: Bool
  ) throws -> (CairnError?, Int) {
    for n in (acked + 1)...(acked + 20) {
      do throws(CairnError) {
        try content.apply(n, to: datastore)
        try datastore.sync()
      } catch { return (error, n) }
      guard mayAccept else {
        throw TortureFailure("commit \(n) was acknowledged by a disk that refuses everything")
      }
      acked = n
    }
    return (nil, acked)
  }
}
