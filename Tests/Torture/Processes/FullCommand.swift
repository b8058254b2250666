import ArgumentParser
import Cairn
import TestSupport

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Disks that are full: of bytes, of names, for one file.
struct FullCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "full", abstract: "Disks without room, and what happens once there is some.")

  @OptionGroup var options: RunOptions

  func run() async throws {
    let seed = options.begin("full")
    var ledger = Ledger("full")
    let place = try Workplace(options.directory)
    let random = SeededRandom(seed)
    let rounds = options.turns(default: 1)
    while rounds.take() != nil {
      if Command.isRoot {
        ledger.expect(["memory disks without room", "disks without names", "writes refused"])
        for step in 0..<64 {
          // From what holds nothing at all to what holds some segments and snapshots.
          try disk("size=\(224 + step * 12)k", place, random, &ledger)
        }
        for names in 6..<26 {
          try disk("size=8m,nr_inodes=\(names)", place, random, &ledger)
        }
        if Command.missing(["losetup", "mkfs.ext4"]).isEmpty {
          ledger.expect(["a real disk filled and freed"])
          try ext4(place, random, &ledger)
        } else {
          RunOptions.skip("a full ext4", "no losetup or mkfs.ext4")
        }
      } else {
        RunOptions.skip("full disks", "not root")
      }
      ledger.expect(["files that may not grow"])
      for kilobytes in [0, 1, 2, 4, 8, 16, 32, 64, 65, 66, 80, 100, 128, 200, 300, 400] {
        try await limited(kilobytes, place, random, &ledger)
      }
    }
    try ledger.close(rates: ["commits"])
  }

  /// A memory disk that a store fills up, together with a ballast that is taken away.
  private func disk(
    _ size: String, _ workplace: Workplace, _ random: SeededRandom, _ ledger: inout Ledger
  ) throws {
    let mountPoint = workplace.path("disk\(Unique.next())")
    try TextFile.makeDirectory(mountPoint)
    guard unsafe mount("tmpfs", mountPoint, "tmpfs", 0, size) == 0 else {
      throw TortureFailure("could not mount a memory disk of \(size): errno \(errno)")
    }
    let isOfNames = size.contains("nr_inodes")
    let ballast = Ballast(directory: mountPoint, names: isOfNames ? 3 : 0)
    try ballast.load(kilobytes: isOfNames ? 4 : 192)
    var filler = Filler(root: mountPoint + "/store", random: random)
    do {
      try filler.fill(&ledger)
      // What it was refused for: that of which nothing is left.
      switch (Ballast.room(mountPoint), isOfNames) {
      case ((_, 0), true): ledger.took("disks without names")
      case ((0..<32, _), false): ledger.took("memory disks without room")
      case (let room, _): ledger.count("refused, with room for \(room.blocks) blocks")
      }
      ballast.drop()
      try filler.goOn(&ledger)
      try filler.end(&ledger)
    } catch { throw TortureFailure("on a disk of \(size): \(error)") }
    try Loop.unmount(mountPoint)
  }

  private func ext4(
    _ workplace: Workplace, _ random: SeededRandom, _ ledger: inout Ledger
  ) throws {
    let image = try LoopImage("ext4", workplace.path, megabytes: 16)
    var filler = Filler(root: image.mountPoint + "/store", random: random)
    let ballast = Ballast(directory: image.mountPoint, names: 0)
    for round in 0..<20 {
      do {
        try ballast.load(kilobytes: 1 << 20)
        try filler.fill(&ledger)
        ballast.drop()
        try filler.goOn(&ledger)
        if round % 3 == 2 { try filler.end(&ledger) }
      } catch { throw TortureFailure("round \(round) on ext4: \(error)") }
      ledger.took("a real disk filled and freed")
    }
    try filler.end(&ledger)
    try image.remove()
  }

  /// A process whose files may not grow past some length.
  private func limited(
    _ kilobytes: Int, _ workplace: Workplace, _ random: SeededRandom, _ ledger: inout Ledger
  ) async throws {
    let root = workplace.path("limited")
    let place = StorePlace(root: root + "/device")
    let content = Content(writer: "a", seed: random.next(), payload: 3000)
    try TextFile.makeDirectory(root)
    var arguments = ["write"] + PlaceOptions.arguments(place, content)
    arguments += ["--persist", "--commits", "120", "--compact-every", "50"]
    // What it says must fit, too: it is not written while it is counted.
    let limit = ["--file-bytes", "\(max(kilobytes << 10, 4096))"]
    let child = try Child(Child.own, arguments + limit, output: root + "/said")
    let ending = try child.wait()
    let words = Words(child.text)
    guard ending == .exited(0) || ending == .exited(9) else {
      throw TortureFailure("files of \(kilobytes) KiB: \(ending): \(child.errors)")
    }
    ledger.count(ending == .exited(0) ? "limits that sufficed" : "limits that stopped the writer")
    for failure in words.failures { ledger.count("failed \(failure)") }
    if !words.failures.isEmpty { ledger.took("files that may not grow") }
    var finding = Finding()
    let checker = Checker(place: place, contents: [content])
    let standing = try checker.check(acked: words.acked, &finding)[0]
    var writer = Writer(place: place, content: content)
    writer.isQuiet = true
    try await writer.run(commits: standing + 20)
    try checker.checkFiles()
    try TextFile.removeTree(root)
  }
}

/// What else lies on a disk.
struct Ballast {
  let directory: String
  let names: Int

  private var path: String { directory + "/ballast" }

  /// As many bytes as are wanted, or as there is room for.
  func load(kilobytes: Int) throws {
    for name in 0..<names { try TextFile.write("\(path)\(name)", []) }
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw TortureFailure("no room for a ballast: errno \(errno)") }
    defer { close(file) }
    // The last of it is left to the store.
    let piece = [UInt8](repeating: 1, count: 64 << 10)
    var rest = kilobytes << 10
    while rest > 0 {
      let count = min(rest, piece.count)
      if unsafe write(file, piece, count) != count { break }
      rest -= count
    }
    if rest > 0 {
      let length = lseek(file, 0, SEEK_END)
      ftruncate(file, max(0, length - 256 << 10))
    }
    fsync(file)
  }

  /// Blocks and names that are free on a disk.
  static func room(_ mountPoint: String) -> (blocks: UInt, names: UInt) {
    var status = Glibc.statvfs()
    guard unsafe statvfs(mountPoint, &status) == 0 else { return (.max, .max) }
    return (UInt(status.f_bavail), UInt(status.f_ffree))
  }

  func drop() {
    unsafe unlink(path)
    for name in 0..<names { unsafe unlink("\(path)\(name)") }
  }
}

/// Commits until nothing more fits, and then some more.
struct Filler {
  private let place: StorePlace
  private let content: Content
  private var datastore: Datastore?
  private var acked = 0

  init(root: String, random: SeededRandom) {
    var place = StorePlace(root: root)
    place.compactsAutomatically = false
    self.place = place
    content = Content(writer: "a", seed: random.next(), payload: 4000)
  }

  private mutating func opened() throws -> Datastore {
    if let datastore { return datastore }
    let opened = try place.open()
    guard try content.check(opened) == acked else {
      throw TortureFailure("opened with \(try content.standing(opened)) commits, not \(acked)")
    }
    datastore = opened
    return opened
  }

  /// Until the disk refuses three commits in a row, and compactions with them.
  mutating func fill(_ ledger: inout Ledger) throws {
    var refused = 0
    while refused < 3 {
      do {
        let datastore = try opened()
        try commit(datastore, &ledger)
        if acked > 100_000 { throw TortureFailure("the disk is never full") }
        refused = 0
        // Later ones would make room for ever.
        if acked % 20 == 0, acked <= 60 { try datastore.compact() }
      } catch let error as CairnError {
        guard error.code == .diskSpace else { throw error }
        refused += 1
        ledger.took("writes refused")
        // It can be read as before, with what could not be committed.
        guard let datastore else { continue }
        guard try content.check(datastore) >= acked else {
          throw TortureFailure("a full disk took something back")
        }
      }
    }
    try datastore?.rollback()
    if let datastore, try content.check(datastore) != acked {
      throw TortureFailure("a roll-back on a full disk left something")
    }
  }

  private mutating func commit(_ datastore: Datastore, _ ledger: inout Ledger) throws {
    if try content.standing(datastore) == acked { try content.apply(acked + 1, to: datastore) }
    try datastore.sync()
    acked += 1
    ledger.count("commits")
  }

  /// With room again, the next commit works, without opening anew.
  mutating func goOn(_ ledger: inout Ledger) throws {
    do {
      let datastore = try opened()
      try commit(datastore, &ledger)
      ledger.count("commits after room was made")
    } catch let error as CairnError where error.code == .diskSpace {
      // The smallest disks have no room for a store at all.
      guard acked == 0 else { throw error }
      ledger.count("disks too small for a store")
    }
  }

  /// Closes, checks everything, compacts if there is room, and checks what is left.
  mutating func end(_ ledger: inout Ledger) throws {
    try datastore?.close()
    datastore = nil
    if acked == 0 { return }
    var finding = Finding()
    let checker = Checker(place: place, contents: [content])
    _ = try checker.check(acked: acked, atMost: acked, &finding)
    guard finding.notes.isEmpty else { throw TortureFailure("mended: \(finding.notes)") }
    do { try checker.checkFiles() } catch let error as CairnError where error.code == .diskSpace {
      ledger.count("compactions without room")
    }
  }
}
