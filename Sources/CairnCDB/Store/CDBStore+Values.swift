public import Cairn
internal import CairnBytes
internal import CairnDisk
internal import Synchronization

extension CDBStore {
  // MARK: reading

  /// The value of a key; nil if there is none. The same object each time, until it is set anew or
  /// ``emptyCache()`` is called.
  ///
  /// - Throws: `closed`; `badType` and `corrupt` if the value can't be decoded; what the disk says.
  public func value(for key: Key) throws(CairnError) -> Value? {
    let name = try keys.encode(key)
    while true {
      let (found, file, opened) = try state.withLock {
        state throws(CairnError) -> (Value??, CDBFile?, UInt64) in
        guard state.isOpen else { throw closedError }
        if let change = state.changes[name] { return (.some(change.value), nil, 0) }
        if let value = state.cache[name] { return (value, nil, 0) }
        return (nil, state.file, state.opened)
      }
      if let found { return found }
      // Decoding is the app's code: nothing is locked meanwhile.
      guard let file, let value = try load(name, from: file) else { return nil }
      let settled = try state.withLock { state throws(CairnError) -> Value?? in
        // It was open when it was asked, and there is no cache any more.
        guard state.isOpen else { return .some(value) }
        // What others did meanwhile goes first: one key is one object.
        if let change = state.changes[name] { return .some(change.value) }
        if let cached = state.cache[name] { return .some(cached) }
        // Another file is there, in which the key may have something else.
        if state.opened != opened, try !Self.hasSame(name, file, state.file) { return nil }
        state.cache[name] = value
        return .some(value)
      }
      if let settled { return settled }
    }
  }

  /// Whether a key that one file has is in another one, with the same bytes.
  private static func hasSame(
    _ name: [UInt8], _ file: CDBFile, _ other: CDBFile?
  ) throws(CairnError) -> Bool {
    let stored = try file.withValue(for: name.span) { value throws(CairnError) in
      [UInt8](copying: value)
    }
    return try has(other, try other?.find(name.span), stored)
  }

  private func load(_ name: [UInt8], from file: CDBFile) throws(CairnError) -> Value? {
    do throws(CairnError) {
      return try file.withValue(for: name.span) { stored throws(CairnError) in
        try values.load(stored)
      }
    } catch {
      var error = error
      error.file = error.file ?? path
      throw error
    }
  }

  /// The value of a key, to read; see ``value(for:)``. Changes are made with ``set(_:for:)``, which
  /// can fail.
  public subscript(key: Key) -> Value? {
    get throws(CairnError) { try value(for: key) }
  }

  /// Whether a key has a value. Reads no value, and decodes none.
  public func contains(_ key: Key) throws(CairnError) -> Bool {
    let name = try keys.encode(key)
    let (change, file) = try changeAndFile(name)
    if let change { return change.value != nil }
    return try file?.contains(name) ?? false
  }

  private func changeAndFile(
    _ name: [UInt8]
  ) throws(CairnError) -> (CDBChange<Key, Value>?, CDBFile?) {
    try state.withLock { state throws(CairnError) in
      guard state.isOpen else { throw closedError }
      return (state.changes[name], state.file)
    }
  }

  /// Shows a value's bytes as they are stored, tag and all: where they lie in the file, without a
  /// copy, if they are not changed.
  ///
  /// - Returns: what `body` returns; nil if the key has no value.
  public func withStoredValue<R>(
    for key: Key, _ body: (Span<UInt8>) throws(CairnError) -> R
  ) throws(CairnError) -> R? {
    let name = try keys.encode(key)
    let (change, file) = try changeAndFile(name)
    if let change {
      guard let stored = try change.stored(values) else { return nil }
      return try body(stored.span)
    }
    return try file?.withValue(for: name.span, body)
  }

  // MARK: changing

  /// Gives a key a value; nil removes it. A value with the bytes that the file has is no change.
  ///
  /// The next reader gets this very value. One that is an object is encoded again by the save; if
  /// it is changed after that, say so with ``markChanged(_:)``.
  /// - Throws: `closed`, what encoding throws, and what the disk says; then nothing has changed.
  public func set(_ value: Value?, for key: Key) throws(CairnError) {
    let name = try keys.encode(key)
    guard let value else { return try change(key, name, .removed) }
    let stored = try values.store(value)
    try change(key, name, .value(value, stored: stored))
  }

  /// Removes a key and its value; does nothing if there is none.
  ///
  /// - Throws: `closed`, and what the disk says.
  public func remove(_ key: Key) throws(CairnError) { try set(nil, for: key) }

  private func change(
    _ key: Key, _ name: [UInt8], _ content: CDBChange<Key, Value>.Content
  ) throws(CairnError) {
    // What is replaced is let go behind the lock: the end of an object is the app's code.
    var gone: (change: CDBChange<Key, Value>?, value: Value?)
    defer { withExtendedLifetime(gone) {} }
    let hasChanged = try state.withLock { state throws(CairnError) -> Bool in
      guard state.isOpen else { throw closedError }
      let record = try state.file?.find(name.span)
      let before = state.changes[name]
      gone = (before, state.cache[name])
      switch content {
      case .removed:
        state.cache[name] = nil
        if record == nil, state.mayDropChanges {
          // Added and removed again: as if it had never been.
          state.changes[name] = nil
          return before != nil
        }
        if case .removed = before?.content { return false }
      case .value(let value, let stored):
        let isSame = try Self.has(state.file, record, stored)
        state.cache[name] = value
        if isSame, state.mayDropChanges {
          state.changes[name] = nil
          return before != nil
        }
      }
      let ticket = state.nextTicket()
      let isNew = before?.value == nil
      state.changes[name] = CDBChange(
        content: keeping(content), key: key, name: name, isInFile: record != nil, ticket: ticket,
        order: isNew ? ticket : before?.order ?? ticket)
      return true
    }
    if hasChanged { autosave() }
  }

  private static func has(
    _ file: CDBFile?, _ record: CDBRecord?, _ stored: [UInt8]?
  ) throws(CairnError) -> Bool {
    guard let file, let record, let stored, record.valueLength == UInt64(stored.count) else {
      return false
    }
    return try file.withValue(of: record) { span throws(CairnError) in
      for index in span.indices where span[index] != stored[index] { return false }
      return true
    }
  }

  private func keeping(
    _ content: CDBChange<Key, Value>.Content
  ) -> CDBChange<Key, Value>.Content {
    if holdsObjects, case .value(let value, _) = content { return .value(value, stored: nil) }
    return content
  }

  /// Says that the value of a key, an object, was changed in place: the next save encodes it anew.
  ///
  /// - Throws: `notFound` if the key has no value, `closed`, and what reading can throw.
  public func markChanged(_ key: Key) throws(CairnError) {
    guard let value = try value(for: key) else { throw missing("the key \(key)") }
    try mark(key, value)
  }

  private func mark(_ key: Key, _ value: Value) throws(CairnError) {
    let name = try keys.encode(key)
    // Let go behind the lock, as in `change`.
    var gone: CDBChange<Key, Value>?
    defer { withExtendedLifetime(gone) {} }
    try state.withLock { state throws(CairnError) in
      guard state.isOpen else { throw closedError }
      let isInFile = try state.file?.find(name.span) != nil
      let before = state.changes[name]
      gone = before
      // Another thread may have set another object since it was read, and saved that.
      let current = before?.value ?? state.cache[name]
      // Removed just now, or removed and saved.
      if current == nil, before != nil || !isInFile { throw missing("the key \(key)") }
      let ticket = state.nextTicket()
      state.cache[name] = current ?? value
      state.changes[name] = CDBChange(
        content: .value(current ?? value, stored: nil), key: key, name: name,
        isInFile: isInFile, ticket: ticket, order: before?.order ?? ticket)
    }
    autosave()
  }

  func missing(_ what: String) -> CairnError {
    CairnError(.notFound, "\"\(path)\" has no value for \(what)", file: path)
  }

  // MARK: what was changed

  /// Whether a save would write anything.
  public var hasChanges: Bool { state.withLock { !$0.changes.isEmpty } }

  /// The keys that were set, marked or removed since the last save, in the order in which that
  /// began.
  public var changedKeys: [Key] {
    state.withLock { $0.changes.values.sorted { $0.order < $1.order }.map(\.key) }
  }

  /// Forgets what was decoded; what was changed and is not saved stays. Values are decoded anew
  /// when they are asked for, into other objects.
  public func emptyCache() {
    let gone = state.withLock { state in
      let old = state.cache
      state.cache = state.changes.compactMapValues(\.value)
      return old
    }
    // Behind the lock: the end of an object is the app's code.
    withExtendedLifetime(gone) {}
  }
}

extension CDBStore where Value: AnyObject {
  /// Says that an object was changed in place, wherever it is: all values that were read or set are
  /// looked through. ``markChanged(_:)`` is quicker.
  ///
  /// - Throws: `notFound` if it is not the value of any key, `closed`.
  public func markChanged(value object: Value) throws(CairnError) {
    try checkOpen()
    let found = state.withLock { state in
      state.cache.filter { $0.value === object }.keys.sorted { $0.lexicographicallyPrecedes($1) }
    }
    if found.isEmpty { throw missing("this object") }
    for name in found { try markChanged(keys.decode(name)) }
  }
}
