import CairnMerge

/// Cuts in the state: reading them, and writing them with a commit.
extension StoreState {
  /// What a commit is to do about cuts.
  struct CutWish {
    /// Devices that the user has retired since the last commit.
    var retiring: Set<DeviceID>
    /// A cut is due if so many deltas are outside of the fence; nil if nobody has asked.
    var from: UInt64?
    /// Devices whose deltas can't be applied here because of a cut.
    var held: [DeviceID: DeliveryPlan.HeldDevice]
    /// Names that devices have left, as far as that was fetched and can't be applied.
    var left: Set<DeviceID> = []
    /// What others say that they have applied.
    var words: CutBook.Words
    /// Whether this device has to give way to a sealed cut that was fetched.
    var isCutOff = false
  }

  /// Reads the book from the reserved table.
  mutating func readCuts() throws(StoreError) {
    if isAlone { return }
    var book = CutBook()
    let number = table(CutTable.name)
    for (id, place) in try places(in: number) {
      CutTable.read(id, try tables[number].fields(place, &ground, rules), into: &book)
    }
    cuts = book
  }

  /// Up to where metadata may be forgotten: it follows from the deltas that are here alone.
  var fence: VersionVector { isAlone ? vector : cuts.fence.meet(vector) }

  /// Adds records for the delta that is about to be committed. Nothing else may be committed
  /// between this and that delta: the records name it. Returns whether there is a cut among them.
  mutating func addCuts(_ wish: CutWish) throws(StoreError) -> Bool {
    let dot = Dot(device: device, sequence: vector[device] + 1)
    let isBack = cuts.retired.contains(device) && hasPending
    var gone: Set<Dot> = []
    for cut in ownSealable(wish.words).reversed() where !gone.contains(cut.dot) {
      var context = vector
      context.insert(dot)
      try setCut(cut.dot, CutTable.seal, context)
      gone.formUnion(cuts.replaced(by: cut).map(\.dot))
    }
    let isDue = isCutDue(wish)
    if isDue {
      let left = wish.left.filter { $0 != device && vector[$0] > 0 }
      let leaving = wish.retiring.union(lost(wish)).union(left)
      let cut = cuts.proposal(dot, seen: vector, retiring: leaving)
      try insert(cut)
      if cut.isSealed { gone.formUnion(cuts.cuts.map(\.dot)) }
      try retire(leaving)
    }
    for old in gone.sorted() { try delete(table(CutTable.name), CutTable.record(old)) }
    // Whoever writes again is back.
    if isBack { try delete(table(CutTable.name), CutTable.record(retired: device)) }
    return isDue
  }

  /// Devices whose deltas are held for good: beside a cut of which everybody was heard who could
  /// have had them in time, or is gone; or behind what is held so, or of a device that is left out.
  /// They will be heard of under other names, so nobody can wait for these.
  private func lost(_ wish: CutWish) -> Set<DeviceID> {
    if wish.held.isEmpty { return [] }
    let known = known(wish.words)
    func isHeard(_ member: DeviceID, _ dot: Dot) -> Bool {
      known[member]?.contains(dot) == true || wish.retiring.contains(member)
        || cuts.retired.contains(member) || cuts.earlierNames[member] != nil
        || wish.left.contains(member)
    }
    /// One that is not in the book was replaced, if it was ever applied here.
    func isOver(_ dot: Dot) -> Bool {
      guard vector.contains(dot) else { return false }
      guard let cut = cuts.cut(dot), !cut.isSealed else { return true }
      return cut.members.allSatisfy { isHeard($0, dot) }
    }
    var lost: Set<DeviceID> = []
    var count = -1
    while lost.count > count {
      count = lost.count
      for (device, reason) in wish.held where device != self.device {
        switch reason {
        case .beside(let dot): if isOver(dot) { lost.insert(device) }
        case .behind(let other):
          if lost.contains(other) || wish.retiring.contains(other) { lost.insert(device) }
        }
      }
    }
    return lost.filter { vector[$0] > 0 }
  }

  private mutating func retire(_ devices: Set<DeviceID>) throws(StoreError) {
    for device in devices.sorted() where !cuts.retired.contains(device) {
      try insertCutRecord(
        CutTable.record(retired: device), [(CutTable.since, .int(Int64(clamping: vector.total)))])
    }
  }

  private func isCutDue(_ wish: CutWish) -> Bool {
    if !wish.retiring.isEmpty { return true }
    // A cut made anew can be sealed at once, and by an old line stand against one that others have
    // agreed on: they would have to give way, some of them for a second time. That is for people.
    if wish.isCutOff { return false }
    if cuts.hasOpen,
      cuts.mustRepeatCut(of: device, words: known(wish.words), gone: wish.left)
    {
      return true
    }
    guard let from = wish.from, openCuts(wish.words).isEmpty else { return false }
    return vector.total >= cuts.fence.total &+ from
  }

  /// The cuts of this device that can be sealed now; others seal theirs.
  private func ownSealable(_ words: CutBook.Words) -> [Cut] {
    let own = cuts.cuts.filter { $0.dot.device == device && !$0.isSealed }
    if own.isEmpty { return [] }
    let known = known(words)
    return own.filter { CutBook.isSealable($0, seen: vector, words: known) }
  }

  /// Words of which all that they contain is here.
  private func known(_ words: CutBook.Words) -> CutBook.Words {
    var known: CutBook.Words = [:]
    allContexts.forEach { device, seen in known[device] = seen }
    for (member, word) in words where vector.covers(word) {
      known[member] = known[member]?.merged(with: word) ?? word
    }
    known[device] = vector
    return known
  }

  /// The cuts that are not sealed and still can be.
  func openCuts(_ words: CutBook.Words) -> [Cut] {
    if cuts.cuts.allSatisfy(\.isSealed) { return [] }
    let known = known(words)
    return cuts.cuts.filter { !$0.isSealed && !cuts.isForsaken($0, words: known) }
  }

  /// Devices of which nobody here knows that they have applied what was asked for.
  func silentMembers(_ words: CutBook.Words) -> Set<DeviceID> {
    openCuts(words).reduce(into: []) { $0.formUnion(silentMembers(of: $1, words)) }
  }

  /// The same of one cut, applied here or not.
  func silentMembers(of cut: Cut, _ words: CutBook.Words) -> Set<DeviceID> {
    if cut.isSealed { return [] }
    // Of who has applied a cut that is not here nobody can be heard wholly.
    let known = vector.contains(cut.dot) ? known(words) : words
    let author = cut.dot.device
    let silent = cut.members.filter { $0 != author && known[$0]?.contains(cut.dot) != true }
    // Once all others have spoken, it only has to say so.
    return silent.isEmpty && author != device ? [author] : Set(silent)
  }

  private mutating func insert(_ cut: Cut) throws(StoreError) {
    var fields: [FieldChange] = [(CutTable.cut, .bytes(cut.encoded))]
    if let seal = cut.seal {
      var bytes: [UInt8] = []
      seal.encode(into: &bytes)
      fields.append((CutTable.seal, .bytes(bytes)))
    }
    try insertCutRecord(CutTable.record(cut.dot), fields)
  }

  private mutating func insertCutRecord(
    _ record: RecordName, _ fields: [FieldChange]
  ) throws(StoreError) {
    let number = table(CutTable.name)
    try insert(number, record, count: fields.count, limits: .unlimited) { fields[$0] }
  }

  /// Notes names that this device has left, as retired.
  mutating func note(
    _ names: [EarlierName], _ moved: [DeviceID: [UInt64]]
  ) throws(StoreError) {
    for name in names {
      let record = CutTable.record(retired: name.name)
      var fields: [FieldChange] = [(CutTable.successor, .bytes(name.encoded))]
      if let chains = moved[name.name], !chains.isEmpty {
        fields.append((CutTable.moved, .bytes(CutTable.encoded(chains, under: name.next))))
      }
      if cuts.retired.contains(name.name) {
        try update(table(CutTable.name), record, fields, limits: .unlimited)
      } else {
        let since: FieldChange = (CutTable.since, .int(Int64(clamping: vector.total)))
        try insertCutRecord(record, [since] + fields)
      }
    }
  }

  private mutating func setCut(
    _ dot: Dot, _ field: String, _ vector: VersionVector
  ) throws(StoreError) {
    var bytes: [UInt8] = []
    vector.encode(into: &bytes)
    try update(
      table(CutTable.name), CutTable.record(dot), [(field, .bytes(bytes))],
      limits: .unlimited)
  }

  /// The commit has failed: its cuts would name another delta.
  mutating func dropPendingCuts() {
    let number = table(CutTable.name)
    pendingSize -= tables[number].pendingRecords.reduce(0) { $0 + $1.changeSize }
    tables[number].rollBack()
  }
}
