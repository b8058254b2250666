import CairnMerge

/// All devices of a datastore at once, and every delta that was ever made. What one device knows of
/// another may be as old as you like: a delta is received whenever it happens to be, and words are
/// taken from wherever they allow most.
struct CutWorld: Hashable {
  struct Device: Hashable {
    var id: DeviceID
    var seen = VersionVector()
    /// It has left its identity for a new one, or is gone for good.
    var isGone = false
    /// The name that it had before, if it has left one.
    var before: DeviceID?
    /// What it had seen when it had just applied a cut: its oldest word with that cut.
    var firstWords: [Dot: VersionVector] = [:]
  }

  enum Kind: Hashable {
    /// Content of its own, or, once more, what was written under other names.
    case write(again: [Names])
    case cut(Cut)
    case seal(of: Dot)
  }

  /// All deltas that have had one piece of content, in the order of their making.
  typealias Names = [Dot]

  struct Delta: Hashable {
    var dot: Dot
    /// This delta included.
    var context: VersionVector
    var kind: Kind
  }

  var devices: [Device]
  /// In the order of their making.
  var deltas: [Delta] = []
  var writesLeft: Int
  var cutsLeft: Int
  var deathsLeft: Int
  /// Devices that are gone for good, by all their names.
  var died: Set<DeviceID> = []

  init(devices count: Int, writes: Int, cuts: Int, deaths: Int = 0) {
    devices = (1...UInt64(count)).map { Device(id: DeviceID(rawValue: $0)) }
    writesLeft = writes
    cutsLeft = cuts
    deathsLeft = deaths
  }

  /// The cuts that follow from what a device has applied.
  func book(_ index: Int) -> CutBook { book(of: devices[index].seen) }

  func book(of seen: VersionVector) -> CutBook {
    var book = CutBook()
    for delta in deltas where seen.contains(delta.dot) {
      switch delta.kind {
      case .write: break
      case .cut(let cut):
        book.insert(cut)
        book.retired.formUnion(retired(by: cut, seen: seen))
      case .seal(let dot):
        guard var cut = book.cut(dot), cut.seal == nil else { continue }
        cut.seal = delta.context
        book.insert(cut)
      }
    }
    for cut in book.cuts where cut.isSealed {
      for old in book.replaced(by: cut) { book.remove(old.dot) }
    }
    return book
  }

  /// Who was seen and left out, and has not written since.
  private func retired(by cut: Cut, seen: VersionVector) -> [DeviceID] {
    cut.context.entries.map(\.device).filter { device in
      !cut.members.contains(device)
        && !deltas.contains {
          $0.dot.device == device && seen.contains($0.dot) && $0.context.contains(cut.dot)
        }
    }
  }

  /// A cut with all that anybody knows of its seals.
  func published(_ cut: Cut) -> [Cut] {
    if cut.isSealed { return [cut] }
    return deltas.compactMap { delta in
      guard case .seal(of: cut.dot) = delta.kind else { return nil }
      var sealed = cut
      sealed.seal = delta.context
      return sealed
    }
  }

  /// What is to be had of every device's words: the newest.
  var words: CutBook.Words {
    Dictionary(uniqueKeysWithValues: devices.map { ($0.id, $0.seen) })
  }

  /// The oldest words with a cut.
  func firstWords(_ cut: Dot) -> CutBook.Words {
    var words: CutBook.Words = [:]
    for device in devices { words[device.id] = device.firstWords[cut] }
    return words
  }

  // MARK: changing

  mutating func commit(_ index: Int, _ kind: Kind) {
    let dot = nextDot(index)
    var context = devices[index].seen
    context.insert(dot)
    deltas.append(Delta(dot: dot, context: context, kind: kind))
    see(deltas[deltas.count - 1], index)
  }

  func nextDot(_ index: Int) -> Dot {
    let device = devices[index]
    return Dot(device: device.id, sequence: device.seen[device.id] + 1)
  }

  mutating func see(_ delta: Delta, _ index: Int) {
    devices[index].seen.insert(delta.dot)
    if case .cut(let cut) = delta.kind { devices[index].firstWords[cut.dot] = devices[index].seen }
  }

  /// Leaves the identity for a new one, on what the sealed cut's group has, and writes what was not
  /// admitted there once more.
  mutating func rejoin(_ index: Int, _ cut: Cut) {
    guard let seal = cut.seal else { return }
    devices[index].isGone = true
    let old = devices[index]
    var new = Device(id: DeviceID(rawValue: UInt64(devices.count + 1)), seen: seal, before: old.id)
    for delta in deltas where seal.contains(delta.dot) {
      if case .cut(let cut) = delta.kind { new.firstWords[cut.dot] = seal }
    }
    devices.append(new)
    let lost = contents(of: old).filter { !$0.contains(where: seal.contains) }
    if !lost.isEmpty { commit(devices.count - 1, .write(again: lost)) }
  }

  /// What a device has written under all its names.
  private func contents(of device: Device) -> [Names] {
    var names: Set<DeviceID> = []
    var name: DeviceID? = device.id
    while let known = name {
      names.insert(known)
      name = devices.first { $0.id == known }?.before
    }
    var contents: [Dot: Names] = [:]
    for delta in deltas where names.contains(delta.dot.device) {
      guard case .write(let again) = delta.kind else { continue }
      for earlier in again.isEmpty ? [[]] : again {
        let all = earlier + [delta.dot]
        contents[all[0], default: []] += all.filter { contents[all[0]]?.contains($0) != true }
      }
    }
    return contents.sorted { $0.key < $1.key }.map(\.value)
  }
}
