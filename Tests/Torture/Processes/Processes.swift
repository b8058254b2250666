import CairnDisk

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the system knows of processes.
enum Processes {
  /// A process and all that it started, parents before children.
  static func tree(_ root: pid_t) -> [pid_t] {
    var parents: [pid_t: pid_t] = [:]
    for entry in (try? PosixDisk().list("/proc")) ?? [] {
      guard let process = pid_t(entry.name) else { continue }
      parents[process] = parent(process)
    }
    var found = [root]
    var next = 0
    while next < found.count {
      found += parents.filter { $0.value == found[next] }.map(\.key).sorted()
      next += 1
    }
    return found
  }

  private static func parent(_ process: pid_t) -> pid_t? {
    // The name, in brackets, may hold anything; the state and the parent follow.
    let text = TextFile.read("/proc/\(process)/stat")
    guard let end = text.lastIndex(of: ")") else { return nil }
    let words = text[end...].split(separator: " ")
    return words.count > 2 ? pid_t(words[2]) : nil
  }

  /// What each thread of a process, and of those that it started, is at.
  static func activity(_ root: pid_t) -> String {
    tree(root).map { process in
      let tasks = (try? PosixDisk().list("/proc/\(process)/task")) ?? []
      return "\(process) " + tasks.map { task in
        let path = "/proc/\(process)/task/\(task.name)/"
        let stat = TextFile.read(path + "stat")
        let state = stat.lastIndex(of: ")").map { stat[$0...].dropFirst(2).prefix(1) } ?? "?"
        let name = TextFile.read(path + "comm").filter { !$0.isNewline }
        let call = TextFile.read(path + "syscall").prefix { !$0.isNewline }.prefix(24)
        return "\(name) \(state) in \(TextFile.read(path + "wchan")) (call \(call))"
      }.joined(separator: ", ")
    }.joined(separator: "; ")
  }

  /// Whether a process has files below a directory open.
  static func hasOpen(_ process: pid_t, below directory: String) -> Bool {
    !OpenFiles.paths(below: directory, of: "\(process)").isEmpty
  }
}
