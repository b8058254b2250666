import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import Synchronization
import TestSupport
import Testing

/// What a process finds may be in the system's memory only, or, after a sync that has failed, never
/// become durable: what it commits on top of that is there after a power cut all the same.
struct StoreDoubtTests {
  /// What makes another content the base.
  enum Switch: String, CaseIterable {
    case adopt, join, rejoin, joinWhatIsInTheLog
  }

  /// A device that another process has left, with all in its snapshot or, to adopt, with nothing;
  /// and what comes to it.
  private struct Setting {
    var device: StoreDevice
    var own: [[UInt8]] = []
    /// Of another device, which has heard of this one.
    var snapshot: [UInt8] = []
    var packs: [[UInt8]] = []

    init(_ kind: Switch) throws {
      device = try StoreDevice(1, time: 1000)
      let other = try StoreDevice(2, time: 2000)
      if kind != .adopt {
        try device.store.insert("first", ["n": 1])
        try device.store.sync()
        own = [try device.store.pack()]
        device.store.confirmPublished(through: 1)
        if kind != .joinWhatIsInTheLog { _ = try device.store.compact() }
        try other.store.sync(packs: own)
      }
      try device.reopen()
      try other.store.insert("theirs", ["n": 2])
      try other.store.sync()
      packs = own + [try other.store.pack()]
      _ = try other.store.compact()
      snapshot = try #require(other.snapshotBytes())
    }

    func act(_ kind: Switch) throws {
      let store = device.store
      guard kind == .rejoin else {
        let path = store.temporarySnapshotPath()
        try device.disk.setBytes(path, snapshot)
        if kind == .adopt { return try store.adopt(snapshot: path) }
        _ = try store.join(snapshot: path)
        return
      }
      var common = CommonBranch(device.id)
      for pack in own { try common.add(pack: pack, through: 1) }
      let staged = try Store.open(
        StoreDevice.directory + "/rejoin", datastore: StoreDevice.datastore, isLinked: true,
        options: device.options, machine: device.machine)
      defer { try? staged.close() }
      try staged.sync(packs: packs)
      let plan = Rejoining(staged: staged, device: staged.device, common: common)
      _ = try #require(try store.rejoin(plan) { _ in })
    }
  }

  enum End: String, CaseIterable {
    case failedOnce, failed, killed
  }

  /// Does something of which one step fails, or all from one on, or before which the process is
  /// killed. Then the process is no more. False: there are not so many steps.
  private func end(
    _ device: StoreDevice, _ end: End, at step: Int, _ body: () throws -> Void
  ) -> Bool {
    let (disk, number) = (device.disk, device.disk.operations + step)
    let killed = Lock<MemoryDisk?>(nil)
    if end == .killed {
      disk.intercept { step in
        if step.number == number { killed.withLock { $0 = disk.snapshot() } }
        return nil
      }
    } else {
      disk.failAt(operation: number, reason: .io(errno: 5), forever: end == .failed)
    }
    try? body()
    disk.intercept(nil)
    let left = killed.withLock { $0 }
    let isOver = left == nil && disk.strikeCount == 0
    device.leave(left ?? disk)
    device.disk.heal()
    return !isOver
  }

  /// The next process has no room to write CURRENT once more, and its own sync of the name says yes
  /// for nothing.
  @Test func `nothing goes that a CURRENT needs whose successor could not be synced`() throws {
    let device = try StoreDevice(1)
    for number in 0..<3 {
      try device.store.insert("r\(number)", ["n": 1])
      try device.store.sync()
    }
    device.store.confirmPublished(through: 3)
    let content = try StoreContent(device.store)
    let hasFailed = Lock(false)
    device.disk.intercept { step in
      guard step.verb == "sync", step.path == StoreDevice.directory else { return nil }
      return hasFailed.withLock { hasFailed in
        defer { hasFailed = true }
        return hasFailed ? nil : .io(errno: 5)
      }
    }
    #expect(throws: StoreError.self) { try device.store.compact() }
    device.disk.intercept(nil)
    #expect(try current(device).snapshot == 1 && hasFailed.withLock { $0 })
    device.leave(device.disk)
    device.disk.capacity = device.disk.usedBytes
    try device.open()
    #expect(try StoreContent(device.store).differences(from: content) == [])
    device.leave(device.disk)
    device.disk.capacity = nil
    try device.crash(.nothingUnsynced)
    #expect(try StoreContent(device.store).differences(from: content) == [])
  }

  private func current(_ device: StoreDevice) throws -> CurrentFile {
    let path = StoreDevice.directory + "/CURRENT"
    return try CurrentFile(try #require(device.disk.bytes(path)), path: path)
  }

  /// The next process commits something, and then the power goes.
  private func goOn(_ device: StoreDevice, _ model: CrashModel, _ comment: Comment) throws {
    try device.open()
    try device.store.insert("second", ["n": 3])
    try device.store.sync()
    let content = try StoreContent(device.store)
    try device.crash(model)
    #expect(try StoreContent(device.store).differences(from: content) == [], comment)
    try device.store.close()
  }

  /// What a switch leaves that ends so at each of its steps; returns how many there are.
  private func each(
    _ kind: Switch, _ how: End, _ body: (_ left: StoreDevice, _ step: Int) throws -> Void
  ) throws -> Int {
    for step in 1...200 {
      let setting = try Setting(kind)
      guard end(setting.device, how, at: step, { try setting.act(kind) }) else { return step - 1 }
      try body(setting.device, step)
    }
    return 200
  }

  @Test(arguments: Switch.allCases, End.allCases)
  func `a commit behind a switch that failed is durable`(kind: Switch, how: End) throws {
    let failed = try each(kind, how) { left, step in
      for model in [.nothingUnsynced, .subset(UInt64(step)), .everything] as [CrashModel] {
        let device = try StoreDevice(3)
        device.leave(left.disk.snapshot())
        try goOn(device, model, "step \(step)")
      }
    }
    // One of these is the sync of CURRENT's name.
    #expect((8..<200).contains(failed))
  }

  /// The next process finds out, and fails as well.
  @Test(arguments: Switch.allCases, End.allCases)
  func `a commit behind two processes that failed is durable`(kind: Switch, how: End) throws {
    var failed = 0
    _ = try each(kind, how) { left, step in
      guard try current(left).isUnsettled else { return }
      for act in 0..<3 {
        for next in 1...100 {
          let device = try StoreDevice(3)
          device.leave(left.disk.snapshot())
          let came = end(device, how, at: next) {
            try device.open()
            switch act {
            case 0:
              try device.store.insert("between")
              try device.store.sync()
            case 1: _ = try device.store.compact()
            default: try device.store.flush()
            }
          }
          guard came else { break }
          failed += 1
          try goOn(device, .nothingUnsynced, "steps \(step) and \(next), act \(act)")
        }
      }
    }
    #expect(failed > 20)
  }

  /// What is told to others must not be taken back.
  @Test(arguments: Switch.allCases)
  func `what was flushed behind a switch that failed is durable`(kind: Switch) throws {
    var unsettled = 0
    _ = try each(kind, .failedOnce) { device, step in
      guard try current(device).isUnsettled else { return }
      unsettled += 1
      try device.open()
      device.store.dropOutboxes()
      try device.store.flush()
      let (content, name) = (try StoreContent(device.store), device.id)
      try device.crash(.nothingUnsynced)
      #expect(try StoreContent(device.store) == content && device.id == name, "step \(step)")
    }
    #expect(unsettled > 0)
  }

  /// Which of two the next process finds, the store that failed does not know.
  @Test func `no outbox goes that the next opening may need`() throws {
    var inDoubt = 0
    for step in 1...200 {
      let setting = try Setting(.rejoin)
      let device = setting.device
      try device.store.insert("before")
      try device.store.sync()
      try setting.act(.rejoin)
      try device.disk.removeTree(StoreDevice.directory + "/rejoin")
      try device.store.insert("more")
      try device.store.sync()
      let content = try StoreContent(device.store)
      var hasSwitched = false
      let isOver = !end(device, .failedOnce, at: step) {
        defer { device.store.dropOutboxes() }
        try setting.act(.rejoin)
        hasSwitched = true
      }
      if isOver { break }
      let rejoinings = try current(device).rejoinings
      #expect(rejoinings == 2 || !hasSwitched && rejoinings == 1, "step \(step)")
      if rejoinings == 2, !hasSwitched { inDoubt += 1 }
      try device.open()
      let last = device.store.vector[device.id]
      #expect(last == 2, "step \(step)")
      #expect(throws: Never.self, "step \(step)") {
        try device.store.checkOwnDeltas(after: 0, through: last)
      }
      let pack = try? device.store.ownPack(after: 0, through: last, limit: 1 << 20)
      #expect(pack?.last == last, "step \(step)")
      #expect(try StoreContent(device.store).differences(from: content) == [], "step \(step)")
      try device.store.close()
    }
    #expect(inDoubt > 0)
  }

  @Test func `a device that takes another name may leave a segment with nothing in it`() throws {
    let setting = try Setting(.rejoin)
    let device = setting.device
    try device.store.insert("more")
    try device.store.sync()
    // As a kill between making the segment and its first frame leaves it.
    let segment = StoreDevice.directory + "/log/" + FileName.segment(2)
    let bytes = try #require(device.disk.bytes(segment))
    try device.store.close()
    try device.disk.setBytes(segment, Array(bytes[..<SegmentHeader.size]))
    try device.open()
    let old = device.id
    try setting.act(.rejoin)
    #expect(device.id != old)
    let content = try StoreContent(device.store)
    try device.reopen()
    #expect(try StoreContent(device.store) == content)
    try device.store.insert("later")
    try device.store.sync()
    try device.crash(.nothingUnsynced)
    #expect(try device.store.get("later") != nil)
  }

  /// A commit of another thread comes just when a compaction has replaced CURRENT, which was in
  /// doubt.
  @Test func `no commit replaces what a compaction has replaced`() throws {
    let setting = try Setting(.adopt)
    let device = setting.device
    let (disk, path) = (device.disk, StoreDevice.directory + "/CURRENT")
    let current = { @Sendable in
      disk.bytes(path).flatMap { bytes in try? CurrentFile(bytes, path: path) }
    }
    // The second time, without the flag.
    disk.intercept { step in
      let found = step.target == path ? current() : nil
      return found?.isUnsettled == true && found?.snapshot != 0 ? .io(errno: 5) : nil
    }
    try setting.act(.adopt)
    disk.intercept(nil)
    let adopted = try #require(current())
    #expect(adopted.isUnsettled && adopted.snapshot > 0)
    try device.reopen()
    let store = device.store
    let errors = Lock<[String]>([])
    let commits = Lock(0)
    disk.intercept { step in
      guard step.verb == "sync", step.path == StoreDevice.directory,
        current()?.snapshot != adopted.snapshot, commits.withLock({ $0 }) == 0
      else { return nil }
      commits.withLock { $0 += 1 }
      BackgroundThread {
        do {
          try store.insert("beside")
          try store.sync()
        } catch { errors.withLock { $0.append("\(error)") } }
      }?.join()
      return nil
    }
    _ = try store.compact()
    disk.intercept(nil)
    #expect(commits.withLock { $0 } == 1 && errors.withLock { $0 } == [])
    let content = try StoreContent(store)
    try device.reopen()
    #expect(try StoreContent(device.store) == content)
    try device.crash(.nothingUnsynced)
    #expect(try StoreContent(device.store) == content)
    #expect(try device.store.get("theirs") != nil && device.store.get("beside") != nil)
  }

  @Test func `a kept segment that has lost its frames is no place for new ones`() throws {
    let device = try StoreDevice(1)
    try device.store.insert("r")
    try device.store.sync()
    _ = try device.store.compact()
    try device.store.close()
    let segment = StoreDevice.directory + "/log/" + FileName.segment(1)
    let bytes = try #require(device.disk.bytes(segment))
    try device.disk.setBytes(segment, Array(bytes[..<SegmentHeader.size]))
    try device.open()
    try device.store.insert("new")
    try device.store.sync()
    try device.reopen()
    #expect(try device.store.get("new") != nil)
    #expect(try device.store.get("r") != nil)
  }
}
