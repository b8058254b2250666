import CairnDisk
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Cairn

/// Folders that do not come back, and whose threads they take.
@Suite(.timeLimit(.minutes(5)))
struct RoundThreadConcurrencyTests {
  /// Keeps whoever comes until all may go on.
  private final class Gate: Sendable {
    private let change = Condition()
    private let inside = Atomic<Int>(0)
    private let isOpen = Atomic<Bool>(false)

    var waiting: Int { inside.load(ordering: .acquiring) }

    func pass() {
      inside.wrappingAdd(1, ordering: .releasing)
      change.withLock { while !isOpen.load(ordering: .acquiring) { change.wait() } }
      inside.wrappingSubtract(1, ordering: .releasing)
    }

    func open() {
      change.withLock {
        isOpen.store(true, ordering: .releasing)
        change.wakeAll()
      }
    }
  }

  private static var thread: ObjectIdentifier { ObjectIdentifier(Thread.current) }

  private func device(
    _ name: String, _ bench: FolderWorkbench, _ hook: HookedFolder.Switch
  ) throws -> Datastore {
    let path = bench.folder
    return try DatastoreManager(
      root: bench.root(name), account: Account(user: "ann", folder: .directory(path)),
      folder: { HookedFolder(base: DirectoryFolder(path), hook: hook) }, options: bench.options,
      machine: .real
    ).openOrCreateDatastore(bench.id)
  }

  @Test func `rounds with a folder that does not come back leave an app its threads`()
    async throws
  {
    let bench = try FolderWorkbench()
    let gate = Gate()
    let hook = HookedFolder.Switch()
    hook.set { _, _ in gate.pass() }
    // More than Swift has threads, and fewer than rounds have.
    let count = min(ProcessInfo.processInfo.activeProcessorCount + 2, 12)
    let devices = try (0..<count).map { try device("\($0)", bench, hook) }
    let rounds = devices.map { device in Task { try await device.exchange() } }
    while gate.waiting < count { try await Task.sleep(for: .milliseconds(1)) }
    #expect(await Task.detached { 1 }.value == 1)
    // What is committed does not wait for a folder either.
    try devices[0].add("r")
    #expect(gate.waiting == count)
    gate.open()
    for round in rounds { _ = try await round.value }
    try await devices[0].exchange()
    try await devices[1].pull()
    #expect(try devices[1].ids() == ["r"])
  }

  @MainActor
  @Test func `what an app asks of a folder on its main thread is done on another one`()
    async throws
  {
    let bench = try FolderWorkbench()
    let asked = Told<Bool>()
    let hook = HookedFolder.Switch()
    let (a, b) = (try device("a", bench, hook), try device("b", bench, hook))
    // What is the main actor's: it need not be the program's first thread where tests run.
    let main = Self.thread
    hook.set { _, _ in asked.add(Self.thread == main) }
    try a.addPhoto("p", [UInt8](repeating: 7, count: 3000))
    try await a.exchange()
    try await b.pullAll()
    #expect(try await b.devices().count == 2)
    try await b.photo("p").fetch()
    #expect(try await b.photo("p").evict())
    #expect(!asked.all.isEmpty && !asked.all.contains(true))
  }

  // MARK: actors

  /// Whether the task that calls this prefers the threads of folders. An actor that it waits for
  /// goes on there, and so does what others ask of that actor meanwhile.
  private static var prefersRoundThreads: Bool {
    unsafe withUnsafeCurrentTask { task in
      unsafe task?.unownedTaskExecutor == RoundThreads.shared.asUnownedTaskExecutor()
    }
  }

  /// What is local would wait once all of these threads wait for folders that do not come back.
  @Test func `an object store is never run on the threads of folders`() async throws {
    let bench = MappingBench()
    let (mapped, folders) = (Told<Bool>(), Told<Bool>())
    let mapping = ObjectMapping(
      MappingBench.Note.self, as: MappingBench.Note.self,
      map: { note, _ throws(CairnError) in
        mapped.add(Self.prefersRoundThreads)
        return MappedRecord(note)
      },
      update: { note, record, _ throws(CairnError) in
        mapped.add(Self.prefersRoundThreads)
        note = record
      })
    bench.hook.set { _, _ in folders.add(Self.prefersRoundThreads) }
    let (a, b) = (try await bench.open("a", [mapping]), try await bench.open("b", [mapping]))
    try await a.insert(MappingBench.Note(text: "x"), "n")
    _ = try await a.exchange()
    let before = mapped.all.count
    _ = try await b.exchange()
    #expect(try b.note("n")?.text == "x" && mapped.all.count > before)
    #expect(!mapped.all.contains(true))
    #expect(!folders.all.isEmpty && !folders.all.contains(false))
  }
}
