import Cairn
import CairnDisk
import TestSupport
import Testing

/// The power fails at every step of what an object store does, and whatever could be left goes on.
@Suite struct MappingCrashTests {
  typealias Note = MappingBench.Note

  private static let mapping: ObjectMapping = .synced(
    Note.self, merge: ObjectMergeTests.joinTexts)

  /// A device with a change that is pending and one that another device has published, concurrent.
  private struct Scene {
    let home: MemoryDisk
    let folder: MemoryDisk
    let other: MemoryDisk

    init() async throws {
      let bench = MappingBench()
      let a = try await bench.open("a", [mapping])
      let b = try await bench.open("b", [mapping])
      for id: RecordID in ["m", "n"] { try await a.insert(Note(text: "w", stars: 1), id) }
      try await bench.settle([a, b])
      try await b.update("n") { ($0.text, $0.stars) = ("b w", 11) }
      _ = try await b.exchange()
      try await b.close()
      try await a.update("n") { ($0.text, $0.stars) = ("a w", 101) }
      try await a.close()
      home = bench.disk("a").snapshot()
      folder = bench.folder("main").snapshot()
      other = bench.disk("b").snapshot()
    }

    /// `seed`: another one for a device that goes on, lest it make names of files once more.
    func bench(_ home: MemoryDisk, _ folder: MemoryDisk, seed: UInt64 = 5) -> MappingBench {
      let bench = MappingBench(seed: seed)
      bench.use(home, for: "a")
      bench.use(other.snapshot(), for: "b")
      bench.use(folder, folder: "main")
      return bench
    }
  }

  /// What happens on the disk that fails.
  private func work(_ a: MappingDevice) async throws {
    try await a.update("m") { $0.tags = ["late"] }
    _ = try await a.exchange()
    try await a.delete("m")
    _ = try await a.exchange()
  }

  @Test func `a power cut at any step loses no object, no pending change and no original`()
    async throws
  {
    let scene = try await Scene()
    let whole = scene.bench(scene.home.snapshot(), scene.folder.snapshot())
    let first = whole.disk("a").operations
    try await work(try await whole.open("a", [Self.mapping]))
    let count = whole.disk("a").operations - first
    #expect(count > 40)
    var seen: Set<Int> = []
    for step in 1...(count + 1) {
      let bench = scene.bench(scene.home.snapshot(), scene.folder.snapshot())
      let disk = bench.disk("a")
      disk.powerOff(before: disk.operations + step)
      do { try await work(try await bench.open("a", [Self.mapping])) } catch {
        try #require(disk.isOff, "\(error)")
      }
      let folder = bench.folder("main").snapshot()
      for model in [CrashModel.nothingUnsynced, .everything, .subset(3), .torn(4)] {
        let left = disk.crash(keep: model)
        if !seen.insert(left.fingerprint() ^ folder.fingerprint()).inserted { continue }
        try await goOn(
          scene.bench(left, folder.snapshot(), seed: 6), "power off before step \(step), \(model)")
      }
    }
    #expect(seen.count > count / 2)
  }

  private func goOn(_ bench: MappingBench, _ comment: Comment) async throws {
    let a = try await bench.open("a", [Self.mapping], suspendCount: 1)
    // Either it is pending, with what was before, or it is in the record for good.
    let pending = try await a.store.pendingChangeSets().flatMap(\.changes).filter {
      $0.object == "n" && $0.fields["text"] != nil
    }
    let record = try #require(try a.record("n"), comment)
    if let change = pending.first {
      #expect(change.originals["text"] == "w" || change.originals["text"] == "b w", comment)
      #expect(try a.note("n")?.text.contains("a") == true, comment)
    } else {
      #expect(record["text"] == "a b w", comment)
    }
    a.store.resume()
    let b = try await bench.open("b", [Self.mapping])
    #expect(try await bench.settle([a, b]), comment)
    for device in [a, b] {
      let note = try #require(try device.note("n"), comment)
      // Each change counts once, whatever was done again.
      #expect(note == Note(text: "a b w", stars: 111), comment)
      #expect(device.store.outbox.pending == 0, comment)
    }
    #expect(try a.notes() == b.notes(), comment)
    #expect(try content(a.main) == content(b.main), comment)
  }

  @Test func `a disk that fails a step takes nothing half`() async throws {
    let scene = try await Scene()
    var failures = 0
    for step in stride(from: 1, through: 90, by: 2) {
      let bench = scene.bench(scene.home.snapshot(), scene.folder.snapshot())
      let disk = bench.disk("a")
      let device: MappingDevice
      do { device = try await bench.open("a", [Self.mapping]) } catch { continue }
      disk.failAt(operation: disk.operations + step, reason: .noSpace)
      do { try await work(device) } catch { failures += 1 }
      disk.heal()
      await letGo(device)
      try await goOn(bench, "step \(step) fails")
    }
    #expect(failures > 10, "most steps are of the work, and their failures are told")
  }

  /// Closes what a device has, whatever its disk says to that.
  private func letGo(_ device: MappingDevice) async {
    do throws(CairnError) { try await device.store.close() } catch {}
    for remote in device.remotes.values { do throws(CairnError) { try remote.close() } catch {} }
  }

  private func editLate(_ device: MappingDevice) async throws {
    try await device.update("n") { ($0.text, $0.stars) = ($0.text + " late", $0.stars + 1000) }
  }

  @Test func `an edit after a round in which the disk has failed a step is there, once`()
    async throws
  {
    let scene = try await Scene()
    var failures = 0
    for step in 1...1000 {
      let comment: Comment = "step \(step) fails"
      let bench = scene.bench(scene.home.snapshot(), scene.folder.snapshot())
      let disk = bench.disk("a")
      var a = try await bench.open("a", [Self.mapping])
      disk.failAt(operation: disk.operations + step, reason: .noSpace)
      var code: CairnError.Code?
      do { _ = try await a.exchange() } catch { code = (error as? CairnError)?.code }
      let isOver = disk.strikeCount == 0
      disk.heal()
      if code != nil { failures += 1 }
      var isEdited = true
      do { try await editLate(a) } catch {
        try #require((error as? CairnError)?.code == .syncFailed, comment)
        isEdited = false
      }
      if code == .syncFailed {
        // What such a disk has is known to those only who open it anew.
        await letGo(a)
        a = try await bench.open("a", [Self.mapping])
        if !isEdited { try await editLate(a) }
      } else {
        try #require(isEdited, comment)
      }
      while a.store.resume() > 0 {}
      let b = try await bench.open("b", [Self.mapping])
      #expect(try await bench.settle([a, b]), comment)
      for device in [a, b] {
        let note = try #require(try device.note("n"), comment)
        #expect(note.text.split(separator: " ").sorted() == ["a", "b", "late", "w"], comment)
        #expect(note.stars == 1111, comment)
        #expect(device.store.outbox == OutboxStatus(), comment)
      }
      if isOver { break }
    }
    #expect(failures > 10)
  }
}
