import Cairn
import CairnBytes
import CairnLog
import TestSupport

/// What sync engines and servers do to files by themselves.
extension MemoryFolder {
  /// Some of what is on its way to a device arrives.
  func deliver(to device: Int, all: Bool = false, _ random: SeededRandom) {
    let number = number(of: device)
    var count = views[number].waiting.count
    if !all, count > 0 { count = 1 + random.below(count) }
    for _ in 0..<count where !views[number].waiting.isEmpty {
      var place = 0
      if let due = arrivalFault(device, [.arrivalLater]), views[number].waiting.count > 1 {
        place = due.random.below(views[number].waiting.count)
        if place > 0 { took(.arrivalLater, device) }
      }
      let event = views[number].waiting.remove(at: place)
      guard let bytes = event.bytes, !bytes.isEmpty,
        let due = arrivalFault(device, [.arrivalPartial, .arrivalEmpty]),
        event.order >= views[number].orders[event.path] ?? 0
      else {
        apply(event, to: number)
        continue
      }
      let length = due.act == .arrivalEmpty ? 0 : due.random.below(bytes.count)
      var part = event
      part.bytes = Array(bytes.prefix(length))
      apply(part, to: number)
      views[number].traps[event.path] = [due.act]
      views[number].waiting.append(event)
    }
  }

  private func arrivalFault(_ device: Int, _ acts: [SimulationStep.Act]) -> Armed? {
    guard let index = armed[device].firstIndex(where: { acts.contains($0.act) }) else {
      return nil
    }
    if armed[device][index].countdown > 0 {
      armed[device][index].countdown -= 1
      return nil
    }
    return armed[device].remove(at: index)
  }

  /// A file of another device, as one device sees it.
  private func victim(_ device: Int, _ random: SeededRandom, _ suffix: String = "") -> String? {
    let files = views[number(of: device)].files.filter { path, file in
      path.contains("/") && path.hasSuffix(suffix) && !strangers.contains(path) && file.isPresent
        && !file.bytes.isEmpty
    }
    return files.isEmpty ? nil : files[random.below(files.count)].path
  }

  /// Does something to a file in a device's view, if there is one for it. It has struck when a
  /// request meets that.
  func spoil(_ act: SimulationStep.Act, _ device: Int, _ random: SeededRandom) {
    let number = number(of: device)
    switch act {
    case .placeholder, .vanish, .damage:
      guard let path = victim(device, random) else { return }
      disturb(act, number, path) { file in
        var file = file
        switch act {
        case .vanish: return nil
        case .placeholder: file.isPresent = false
        default:
          for _ in 0...random.below(3) {
            file.bytes[random.below(file.bytes.count)] ^= UInt8(1 << random.below(8))
          }
        }
        return file
      }
    case .newerFormat:
      guard let path = victim(device, random, ".seg") else { return }
      disturb(act, number, path) { file in
        var file = file
        file.bytes = Self.newer(file.bytes)
        return file
      }
    case .reappear: reappear(number, random)
    case .conflictedCopy, .duplicate:
      guard let path = victim(device, random), let file = views[number][path] else { return }
      addStranger(act, path, file.bytes, random)
    case .junk:
      let directory = views[number].directories.keys.sorted().filter { !$0.isEmpty }
      guard !directory.isEmpty else { return }
      let names = [".DS_Store", "desktop.ini", "Thumbs.db", ".stfolder", "~lock.x#", "a b.txt"]
      let path = directory[random.below(directory.count)] + "/" + names[random.below(names.count)]
      spread(act, path, random.bytes(random.below(300)))
    default: break
    }
  }

  /// A listing shows what has become of files; only what they hold it does not tell.
  func meetListing(_ directory: String, _ device: Int) {
    let number = number(of: device)
    let hidden: Set<SimulationStep.Act> = [.damage, .newerFormat]
    for (path, acts) in views[number].traps where View.split(path).directory == directory {
      for act in acts where !hidden.contains(act) { took(act, device) }
      let left = acts.filter { hidden.contains($0) }
      views[number].traps[path] = left.isEmpty ? nil : left
    }
    for (path, act) in unmetStrangers
    where View.split(path).directory == directory && views[number][path] != nil {
      took(act, device)
      unmetStrangers[path] = nil
    }
    if unmetRollBack.contains(where: { View.split($0).directory == directory }) {
      meetRollBack(device)
    }
  }

  /// A device reads a file, or finds that it is not there.
  func meetReading(_ path: String, _ device: Int) {
    let number = number(of: device)
    for act in views[number].traps[path] ?? [] { took(act, device) }
    views[number].traps[path] = nil
    if unmetRollBack.contains(path) { meetRollBack(device) }
  }

  private func meetRollBack(_ device: Int) {
    took(.folderRolledBack, device)
    unmetRollBack = []
  }

  /// A segment that was removed comes back for a time.
  private func reappear(_ number: Int, _ random: SeededRandom) {
    let gone = older.filter { $0.path.hasSuffix(".seg") && views[number][$0.path] == nil }
    guard !gone.isEmpty else { return }
    let (path, bytes, _) = gone[random.below(gone.count)]
    let order = views[number].orders[path] ?? 0
    // It may be on its way anyway.
    guard order > 0, !views[number].waiting.contains(where: { $0.path == path }) else { return }
    views[number][path] = File(bytes: bytes, order: order, tick: tick())
    views[number].waiting.append(Event(path: path, bytes: nil, order: order))
    views[number].traps[path] = [.reappear]
  }

  private func spread(_ act: SimulationStep.Act, _ path: String, _ bytes: [UInt8]) {
    strangers.insert(path)
    unmetStrangers[path] = act
    let order = tick()
    for index in views.indices {
      apply(Event(path: path, bytes: bytes, order: order), to: index)
    }
  }

  /// How sync engines name a copy. The rest of the name, then the suffix.
  private static let schemes: [@Sendable (String, String) -> String] = [
    { "\($0) (ann's conflicted copy 2026-03-02)\($1)" },
    { "\($0) (Case Conflict)\($1)" },
    { "\($0).sync-conflict-20260302-101112-ABCDEFG\($1)" },
    { "\($0) 2\($1)" },
    { "\($0)-annslaptop\($1)" },
    { "\($0)-annslaptop-2\($1)" },
    { "\($0) (1)\($1)" },
    { "\($0) (conflicted copy 2026-03-02 101112)\($1)" },
    { "\($0)_conflict-20260302-101112\($1)" },
    { "Copy of \($0)\($1)" },
    { ".~\($0)\($1)" },
  ]

  private func addStranger(
    _ act: SimulationStep.Act, _ path: String, _ bytes: [UInt8], _ random: SeededRandom
  ) {
    let (directory, name) = View.split(path)
    let dot = name.lastIndex(of: ".") ?? name.endIndex
    let scheme = Self.schemes[random.below(Self.schemes.count)]
    var copy = bytes
    if act == .conflictedCopy {
      let old = older.filter { $0.path == path }
      switch random.below(3) {
      case 0 where !old.isEmpty: copy = old[random.below(old.count)].bytes
      case 1: copy = Array(bytes.prefix(random.below(bytes.count)))
      default: break
      }
    }
    spread(act, directory + "/" + scheme(String(name[..<dot]), String(name[dot...])), copy)
  }

  /// A segment that only a newer version may read.
  static func newer(_ segment: [UInt8]) -> [UInt8] {
    guard segment.count > PublishedSegment.headerSize + 16 else { return segment }
    var bytes = segment
    bytes[10] = 9
    let sum = XXH3.hash64(bytes, 0..<104)
    bytes.set(sum, at: 104)
    let all = XXH3.hash128(bytes, 0..<(bytes.count - 16))
    bytes.set(UInt64(truncatingIfNeeded: all), at: bytes.count - 16)
    bytes.set(UInt64(truncatingIfNeeded: all >> 64), at: bytes.count - 8)
    return bytes
  }
}
