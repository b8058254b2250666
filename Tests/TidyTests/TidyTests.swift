import TestSupport
import Testing

/// The rules of this code that a compiler does not know. An exception needs its reason beside it.
@Suite struct TidyTests {
  // MARK: sizes

  @Test func `no line is longer than 100 characters`() throws {
    var problems: [String] = []
    for file in try SourceFile.swift() {
      for (index, line) in file.lines.enumerated() where line.count > 100 {
        problems.append("\(file.place(index)): \(line.count) characters")
      }
    }
    expectNone(problems)
  }

  @Test func `no file is longer than 500 lines`() throws {
    var problems: [String] = []
    for file in try SourceFile.swift() where file.lines.count > 500 {
      problems.append("\(file.path): \(file.lines.count) lines")
    }
    expectNone(problems)
  }

  @Test func `no function is longer than 70 lines`() throws {
    var problems: [String] = []
    for file in try SourceFile.swift() {
      for function in FunctionLengths.functions(file.code()) where function.lineCount > 70 {
        problems.append("\(file.place(function.line)): \(function.lineCount) lines")
      }
    }
    expectNone(problems)
  }

  // MARK: safety

  /// Outside of the two modules that are there for it.
  private static let unsafeFiles = [
    "Sources/CairnMerge/Base64ID.swift": "ids become text by the million: their bytes are written "
      + "where the string keeps them",
    "Sources/Cairn/PathName.swift": "realpath and getcwd return C strings",
    "Sources/Cairn/RoundThreads.swift": "jobs of Swift's concurrency are run once each, which "
      + "nobody checks",
    "Sources/CairnCDB/File/CDBFile+Look.swift": "the search of a constant database in memory, and "
      + "its callers, whose code it becomes part of, look at its bytes where they lie",
  ]

  @Test func `unsafe is where it is expected`() throws {
    var problems: [String] = []
    for file in try SourceFile.sources() {
      if file.path.hasPrefix("Sources/CairnBytes/") || file.path.hasPrefix("Sources/CairnDisk/") {
        continue
      }
      if TidyTests.unsafeFiles[file.path] != nil { continue }
      for (index, line) in file.code().enumerated() where words(line).contains("unsafe") {
        problems.append("\(file.place(index)): unsafe code")
      }
    }
    expectNone(problems)
  }

  /// Outside of CairnDisk.
  private static let systemFiles = [
    "Sources/Cairn/PathName.swift": "tells whether one directory lies inside another"
  ]

  @Test func `nothing imports Foundation, and the system only where it is expected`() throws {
    var problems: [String] = []
    for file in try SourceFile.sources() {
      for (index, line) in file.code().enumerated() where words(line).contains("import") {
        let module = line.split(separator: " ").last.map(String.init) ?? ""
        if module.hasPrefix("Foundation") { problems.append("\(file.place(index)): \(module)") }
        guard module == "Glibc" || module == "Darwin" else { continue }
        if file.path.hasPrefix("Sources/CairnDisk/") { continue }
        if TidyTests.systemFiles[file.path] != nil { continue }
        problems.append("\(file.place(index)): \(module)")
      }
    }
    expectNone(problems)
  }

  /// `Lock` is `Mutex` in every build but the thread sanitizer's: only there the compiler asks.
  @Test func `what takes a lock imports the module that has it`() throws {
    var problems: [String] = []
    for file in try SourceFile.sources() where !file.path.hasPrefix("Sources/CairnDisk/") {
      let code = file.code()
      let isImported = code.contains { $0.hasSuffix("import CairnDisk") }
      for (index, line) in code.enumerated() where line.contains(".withLock") && !isImported {
        problems.append("\(file.place(index)): .withLock without CairnDisk")
      }
    }
    expectNone(problems)
  }

  /// Where a program that is wrong ends, because going on would spoil data.
  private static let endings = [
    // Values are checked where they come in; behind that a bad one can't be.
    "Sources/CairnMerge/ListCoding.swift": "preconditionFailure(",
    // For the thread sanitizer only; the value is touched under the lock alone.
    "Sources/CairnDisk/Lock.swift": "@unchecked",
    // Memory that is written to once, under a lock, before a flag lets anybody read it.
    "Sources/CairnDisk/FileBytes.swift": "@unchecked",
    "Sources/CairnDisk/MemoryRoom.swift": "@unchecked",
    "Sources/CairnDisk/PageRoom.swift": "@unchecked",
    // A word that is only touched atomically.
    "Sources/CairnDisk/ForkedWord.swift": "@unchecked",
    // A lock of the system's, and what is only touched under it.
    "Sources/CairnDisk/Condition.swift": "@unchecked",
    "Sources/CairnStore/GroupCommit.swift": "@unchecked",
    "Sources/Cairn/RoundThreads.swift": "@unchecked",
  ]

  @Test func `nothing gives up on errors`() throws {
    var problems: [String] = []
    let forbidden = [
      "try!", "fatalError(", "preconditionFailure(", "assertionFailure(", "@unchecked",
      "nonisolated(unsafe)",
    ]
    for file in try SourceFile.sources() {
      let code = file.code()
      for (index, line) in code.enumerated() {
        for word in forbidden where line.contains(word) {
          if TidyTests.endings[file.path] == word { continue }
          problems.append("\(file.place(index)): \(word)")
        }
        if hasForceUnwrap(line) { problems.append("\(file.place(index)): unwraps by force") }
        // What is ignored is explained.
        guard line.contains(/\btry\?/), index > 0 else { continue }
        let above = file.lines[index - 1].drop { $0 == " " }
        if !above.hasPrefix("//") { problems.append("\(file.place(index)): try? without a reason") }
      }
    }
    expectNone(problems)
  }

  private func hasForceUnwrap(_ line: String) -> Bool {
    let characters = Array(line)
    for index in characters.indices.dropFirst() where characters[index] == "!" {
      let before = characters[index - 1]
      let isPostfix =
        before.isLetter || before.isNumber || before == "_" || before == ")" || before == "]"
      let next = index + 1 < characters.count ? characters[index + 1] : " "
      if isPostfix, next != "=" { return true }
    }
    return false
  }

  @Test func `nothing is printed and nothing left to do`() throws {
    var problems: [String] = []
    for file in try SourceFile.sources() {
      for (index, line) in file.code().enumerated() {
        if words(line).contains(where: { ["print", "debugPrint", "dump"].contains($0) }) {
          problems.append("\(file.place(index)): prints")
        }
      }
      for (index, line) in file.lines.enumerated()
      where !words(line).isDisjoint(with: ["TO" + "DO", "FIX" + "ME", "XX" + "X"]) {
        problems.append("\(file.place(index)): something is left to do")
      }
    }
    expectNone(problems)
  }

  // MARK: names

  @Test(arguments: ["seg", "snap", "head", "tmp", "bad", "reason", "torn"])
  func `a suffix of file names is written once`(_ suffix: String) throws {
    var places: [String] = []
    for file in try SourceFile.sources() {
      for (index, line) in file.code(strings: true).enumerated()
      where line.contains(".\(suffix)\"") {
        places.append(file.place(index))
      }
    }
    #expect(places.count == 1, "\(places)")
  }

  @Test func `a file is named after what it declares`() throws {
    var problems: [String] = []
    for file in try SourceFile.sources() {
      let name = file.path.split(separator: "/").last.map(String.init) ?? ""
      let type = name.split { $0 == "." || $0 == "+" }.first.map(String.init) ?? ""
      let isDeclared = file.code().contains { line in
        let found = words(line)
        return found.contains(type)
          && !found.isDisjoint(with: ["struct", "class", "enum", "protocol", "actor", "extension"])
      }
      if !isDeclared, TidyTests.topicFiles[file.path] == nil {
        problems.append("\(file.path): nothing in it is called \(type)")
      }
    }
    expectNone(problems)
  }

  private static let topicFiles = [
    "Sources/CairnBytes/ByteLoads.swift": "extends arrays of bytes",
    "Sources/CairnBytes/ByteWrites.swift": "extends arrays of bytes",
    "Sources/CairnBytes/UTF8Check.swift": "extends arrays of bytes",
    "Sources/CairnLog/SegmentFormat.swift": "header and footer, one format in one place",
    "Sources/CairnLog/SnapshotFormat.swift": "the header, which says where everything is",
  ]

  /// The thread sanitizer's build has these folders and no others.
  @Test func `suites of threads lie in the folders for them`() throws {
    let package = try SourceFile("Package.swift").lines
    var problems: [String] = []
    for file in try SourceFile.all(in: ["Tests"], [".swift"]) {
      let parts = file.path.split(separator: "/").map(String.init)
      let isSuite = file.code().contains { line in
        line.contains("struct ") && line.hasSuffix("ConcurrencyTests {")
      }
      guard isSuite || parts.contains("Concurrency") else { continue }
      if !isSuite { problems.append("\(file.path): a suite is called …ConcurrencyTests here") }
      if parts.count != 4 || parts[2] != "Concurrency" {
        problems.append("\(file.path): belongs into a folder Concurrency of its tests")
      }
      let target = package.firstIndex { $0.contains("\"\(parts[1])\"") } ?? 0
      if !package[target...].prefix(3).contains(where: { $0.contains("concurrent: [") }) {
        problems.append("Package.swift: \(parts[1]) has no concurrent part")
      }
    }
    expectNone(problems)
  }

  // MARK: pages

  @Test func `every page that is mentioned is there`() throws {
    var problems: [String] = []
    let pages = try SourceFile.all(
      in: ["Sources", "Tests", "Tools", "Benchmarks", ".ci"], [".swift", ".md", "/run"])
      + [SourceFile("README.md"), SourceFile("CHANGELOG.md"), SourceFile("Package.swift")]
    let known = Set(
      pages.map(\.path).filter { $0.hasSuffix(".md") }.compactMap { $0.split(separator: "/").last })
    let page = /[A-Za-z][A-Za-z0-9_\/]*\.md\b/
    // A path of the place where this was made, and the numbers of its tasks, mean nothing to a
    // reader.
    let privatePath = "/wo" + "rk/"
    let task = /\b[Ii]ssue #?[0-9]/
    for file in pages {
      for (index, line) in file.lines.enumerated() {
        for match in line.matches(of: page) {
          let name = match.output.split(separator: "/").last ?? ""
          if !known.contains(name) { problems.append("\(file.place(index)): there is no \(name)") }
        }
        if line.contains(privatePath) || line.contains(task) {
          problems.append("\(file.place(index)): refers to something outside of the project")
        }
      }
    }
    expectNone(problems)
  }

  private func words(_ line: String) -> Set<String> {
    Set(line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
  }
}
