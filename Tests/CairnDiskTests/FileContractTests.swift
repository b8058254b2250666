import CairnDisk
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What an open file promises, on either disk.
struct FileContractTests {
  @Test(arguments: DiskKind.allCases)
  func `what was written is read back`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    try file.put("hello world")
    try file.put("W", at: 6)
    try file.sync()
    #expect(try file.size() == 11)
    #expect(try file.read(at: 0, count: 11) == Array("hello World".utf8))
    #expect(try file.read(at: 6, count: 3) == Array("Wor".utf8))
    file.close()
    #expect(try bench.text("a") == "hello World")
  }

  @Test(arguments: DiskKind.allCases)
  func `a read is short only at the end`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    try file.put("abc")
    #expect(try file.read(at: 1, count: 10) == Array("bc".utf8))
    #expect(try file.read(at: 3, count: 10).isEmpty)
    for offset in [UInt64.max, UInt64(Int64.max), 1 << 40] {
      #expect(try file.read(at: offset, count: 10).isEmpty)
    }
    #expect(try file.read(at: 0, count: 0).isEmpty)
  }

  @Test(arguments: DiskKind.allCases)
  func `a read asks for no more memory than the file can fill`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    try file.put("abc")
    #expect(try file.read(at: 1, count: .max) == Array("bc".utf8))
    #expect(try file.read(at: .max, count: .max).isEmpty)
  }

  @Test(arguments: DiskKind.allCases)
  func `a large write and read are whole`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try file.write(bytes.span, at: 5)
    #expect(try file.size() == 3_000_005)
    #expect(try file.read(at: 5, count: 3_000_000) == bytes)
    #expect(try file.read(at: 0, count: .max) == [0, 0, 0, 0, 0] + bytes)
  }

  @Test(arguments: DiskKind.allCases)
  func `a write beyond the end leaves zeros between`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    try file.put("x", at: 3)
    #expect(try file.read(at: 0, count: 9) == [0, 0, 0, 0x78])
  }

  @Test(arguments: DiskKind.allCases)
  func `a write of nothing changes nothing`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    try file.put("", at: 100)
    #expect(try file.size() == 0)
  }

  @Test(arguments: DiskKind.allCases, [UInt64.max, 1 << 63, UInt64(Int64.max), 1 << 62])
  func `a place beyond all files is refused`(kind: DiskKind, offset: UInt64) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    let tooBig = #expect(throws: DiskError.self) { try file.put("x", at: offset) }
    #expect(tooBig?.reason == .io(errno: EFBIG))
    #expect(throws: DiskError.self) { try file.truncate(to: offset) }
    #expect(throws: DiskError.self) { try file.preallocate(to: offset) }
    #expect(try file.size() == 0)
  }

  @Test(arguments: DiskKind.allCases)
  func `truncating cuts and adds zeros`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    try file.put("abcdef")
    try file.truncate(to: 2)
    try file.truncate(to: 4)
    #expect(try file.read(at: 0, count: 9) == [0x61, 0x62, 0, 0])
  }

  @Test(arguments: DiskKind.allCases)
  func `preallocating adds zeros and never cuts`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    try file.put("ab")
    try file.preallocate(to: 4096)
    #expect(try file.size() == 4096)
    try file.preallocate(to: 10)
    try file.preallocate(to: 0)
    #expect(try file.read(at: 0, count: .max) == [0x61, 0x62] + [UInt8](repeating: 0, count: 4094))
  }

  @Test(arguments: DiskKind.allCases)
  func `a file opened for reading can't be written`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.put("a", "abc")
    let file = try bench.disk.open(bench.path("a"), .read)
    #expect(throws: DiskError.self) { try file.put("x") }
    #expect(throws: DiskError.self) { try file.truncate(to: 0) }
    #expect(throws: DiskError.self) { try file.preallocate(to: 10) }
    #expect(try file.text() == "abc")
  }

  @Test(arguments: DiskKind.allCases)
  func `a file opened again keeps its bytes`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    try bench.put("a", "abc")
    let file = try bench.disk.open(bench.path("a"), .readWrite)
    try file.put("B", at: 1)
    #expect(try bench.text("a") == "aBc")
  }

  @Test(arguments: DiskKind.allCases)
  func `a closed file refuses every call`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    file.close()
    file.close()
    file.adviseRandom()
    let calls: [(any DiskFile) throws -> Void] = [
      { _ = try $0.size() }, { _ = try $0.read(at: 0, count: 1) }, { try $0.put("x") },
      { try $0.sync() }, { try $0.truncate(to: 1) }, { try $0.preallocate(to: 1) },
    ]
    for call in calls {
      let error = #expect(throws: DiskError.self) { try call(file) }
      #expect(error?.reason == .io(errno: EBADF))
      #expect(error?.path == bench.path("a"))
    }
  }

  @Test(arguments: DiskKind.allCases)
  func `a file without a name works on`(kind: DiskKind) throws {
    let bench = try DiskWorkbench(kind)
    let file = try bench.disk.open(bench.path("a"), .create)
    try file.put("abc")
    try bench.disk.remove(bench.path("a"))
    try bench.put("a", "another")
    try file.put("X")
    try file.sync()
    file.adviseRandom()
    #expect(try file.text() == "Xbc")
    #expect(try bench.text("a") == "another")
  }
}
