#if canImport(Glibc)
  import CairnDisk
  public import Glibc
  import Synchronization

  /// Makes single calls of this process fail, or come too late, which no file could. For tests in a
  /// process of their own; why it works is said at `SyncProbe`.
  enum CallProbe {
    private struct Orders: Sendable {
      var beforeLock: (@Sendable () -> Void)?
      var lockFailure: Int32?
      var openFailure: Int32?
      var atEnd: (@Sendable () -> Int32)?
      var unread: Set<String> = []
      var statusFailure: Int32 = 0
    }

    private static let orders = Lock(Orders())

    /// What happens before each lock from now on.
    static func beforeLock(_ body: (@Sendable () -> Void)?) {
      orders.withLock { $0.beforeLock = body }
    }

    /// Makes the next lock fail with this number.
    static func failLocking(with code: Int32) { orders.withLock { $0.lockFailure = code } }

    /// Makes the next directory that is opened by its descriptor fail with this number.
    static func failOpening(with code: Int32) { orders.withLock { $0.openFailure = code } }

    /// What happens where the names of the next directory end, and their error (0: none).
    static func atEndOfNames(_ body: @escaping @Sendable () -> Int32) {
      orders.withLock { $0.atEnd = body }
    }

    /// Makes it fail with this number to say what these names stand for.
    static func failStatus(of names: Set<String>, with code: Int32) {
      orders.withLock { ($0.unread, $0.statusFailure) = (names, code) }
    }

    /// The system's own function of this name: the next after this program's.
    private static func next(_ name: String) -> UnsafeMutableRawPointer? {
      unsafe dlsym(UnsafeMutableRawPointer(bitPattern: -1), name)
    }

    fileprivate static func lock(_ descriptor: Int32, _ operation: Int32) -> Int32 {
      let order = orders.withLock { orders in
        defer { orders.lockFailure = nil }
        return orders
      }
      order.beforeLock?()
      if let code = order.lockFailure {
        errno = code
        return -1
      }
      guard let symbol = unsafe next("flock") else { return -1 }
      typealias Call = @convention(c) (Int32, Int32) -> Int32
      return unsafe unsafeBitCast(symbol, to: Call.self)(descriptor, operation)
    }

    fileprivate static func open(_ descriptor: Int32) -> OpaquePointer? {
      let failure = orders.withLock { orders in
        defer { orders.openFailure = nil }
        return orders.openFailure
      }
      if let failure {
        errno = failure
        return nil
      }
      guard let symbol = unsafe next("fdopendir") else { return nil }
      typealias Call = @convention(c) (Int32) -> OpaquePointer?
      return unsafe unsafeBitCast(symbol, to: Call.self)(descriptor)
    }

    fileprivate static func status(
      _ descriptor: Int32, _ name: UnsafePointer<CChar>, _ status: UnsafeMutablePointer<stat>,
      _ flags: Int32
    ) -> Int32 {
      let (unread, code) = orders.withLock { ($0.unread, $0.statusFailure) }
      if !unread.isEmpty, unread.contains(unsafe String(cString: name)) {
        errno = code
        return -1
      }
      guard let symbol = unsafe next("fstatat") else { return -1 }
      typealias Call =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutablePointer<stat>, Int32) -> Int32
      return unsafe unsafeBitCast(symbol, to: Call.self)(descriptor, name, status, flags)
    }

    fileprivate static func read(_ stream: OpaquePointer) -> UnsafeMutablePointer<dirent>? {
      guard let symbol = unsafe next("readdir") else { return nil }
      typealias Call = @convention(c) (OpaquePointer) -> UnsafeMutablePointer<dirent>?
      if let entry = unsafe unsafeBitCast(symbol, to: Call.self)(stream) { return unsafe entry }
      let body = orders.withLock { orders in
        defer { orders.atEnd = nil }
        return orders.atEnd
      }
      if let code = body?() { errno = code }
      return nil
    }
  }

  @c(flock) public func probedLock(_ descriptor: Int32, _ operation: Int32) -> Int32 {
    CallProbe.lock(descriptor, operation)
  }

  @c(fdopendir) public func probedOpen(_ descriptor: Int32) -> OpaquePointer? {
    unsafe CallProbe.open(descriptor)
  }

  @c(fstatat) public func probedStatus(
    _ descriptor: Int32, _ name: UnsafePointer<CChar>, _ status: UnsafeMutablePointer<stat>,
    _ flags: Int32
  ) -> Int32 {
    unsafe CallProbe.status(descriptor, name, status, flags)
  }

  @c(readdir) public func probedRead(_ stream: OpaquePointer) -> UnsafeMutablePointer<dirent>? {
    unsafe CallProbe.read(stream)
  }
#endif
