import CairnDisk
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One file, many threads.
struct PosixThreadTests {
  @Test func `threads write their own places`() async throws {
    let directory = try TemporaryDirectory()
    let file = try PosixDisk().open(directory.path("f"), .create)
    try await withThrowingTaskGroup { group in
      for number in 0..<8 {
        group.addTask {
          let bytes = [UInt8](repeating: UInt8(number), count: 100)
          for round in 0..<50 { try file.write(bytes.span, at: UInt64(round * 800 + number * 100)) }
        }
      }
      try await group.waitForAll()
    }
    let bytes = try file.read(at: 0, count: .max)
    #expect(bytes.count == 40_000)
    for (place, byte) in bytes.enumerated() where Int(byte) != place / 100 % 8 {
      Issue.record("\(byte) at \(place)")
      break
    }
  }

  /// A descriptor closed under a running call would soon be another file's.
  @Test func `a file that is closed under its readers shows them no other`() async throws {
    let directory = try TemporaryDirectory()
    let disk = PosixDisk()
    for round in 0..<200 {
      let mine = try disk.open(directory.path("mine-\(round)"), .create)
      try mine.put("mine")
      try await withThrowingTaskGroup { group in
        for _ in 0..<3 {
          group.addTask {
            do {
              while true {
                try #require(try mine.text() == "mine")
                try mine.put("mine")
                // Tasks are more than threads: the one that closes needs its turn.
                await Task.yield()
              }
            } catch let error as DiskError {
              #expect(error.reason == .io(errno: EBADF))
            }
          }
        }
        group.addTask {
          try await Task.sleep(for: .microseconds(50))
          mine.close()
          let other = try disk.open(directory.path("other-\(round)"), .create)
          try other.put("else")
          #expect(try other.text() == "else")
        }
        try await group.waitForAll()
      }
    }
  }
}
