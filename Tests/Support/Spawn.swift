#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Starts a program. What this process ignores or blocks is nothing to it.
package enum Spawn {
  /// A file that the program has as one of its streams.
  package struct Stream {
    var descriptor: Int32
    var path: String
    var flags: Int32
    var permissions: mode_t = 0

    /// What it reads.
    package static func input(_ path: String = "/dev/null") -> Stream {
      Stream(descriptor: 0, path: path, flags: O_RDONLY)
    }

    /// What it says, in place of what the file has, and for this user only. `isError`: what it has
    /// to complain of.
    package static func output(_ path: String, isError: Bool = false) -> Stream {
      Stream(
        descriptor: isError ? 2 : 1, path: path,
        flags: O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, permissions: 0o600)
    }
  }

  /// - Parameters:
  ///   - program: Its path, or its name in PATH.
  ///   - environment: `NAME=value`, all that it has; nil: that of this process.
  /// - Returns: Its process.
  package static func start(
    _ program: String, _ arguments: [String], streams: [Stream], environment: [String]? = nil
  ) throws(NotStarted) -> Int32 {
    let words = WordList([program] + arguments)
    let settings = environment.map { WordList($0) }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = unsafe posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for stream in streams {
      unsafe posix_spawn_file_actions_addopen(
        &actions, stream.descriptor, stream.path, stream.flags, stream.permissions)
    }
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    // A thread of Dispatch blocks signals, and tests may have some ignored.
    var (none, all) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var process = pid_t()
    let code = withExtendedLifetime((words, settings)) {
      unsafe posix_spawnp(
        &process, program, &actions, &attributes, words.pointer, settings?.pointer ?? environ)
    }
    guard code == 0 else { throw NotStarted(program: program, code: code) }
    return process
  }

  /// The settings of this process behind others, which count where both have one.
  package static func environment(adding settings: [String]) -> [String] {
    var result = settings
    var place = 0
    while let setting = unsafe environ[place] {
      unsafe result.append(String(cString: setting))
      place += 1
    }
    return result
  }

  package struct NotStarted: Error {
    package var program: String
    /// As `errno` says it.
    package var code: Int32
  }
}

/// Words as C wants them: each ends with a zero, the list with a null pointer.
@safe private final class WordList {
  let pointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ words: [String]) {
    count = words.count
    unsafe pointer = .allocate(capacity: count + 1)
    for (index, word) in words.enumerated() {
      unsafe (pointer + index).initialize(to: strdup(word))
    }
    unsafe (pointer + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { unsafe free(pointer[index]) }
    unsafe pointer.deallocate()
  }
}
