import CLZ4
import Glibc

// The floor of W3 for a program in Swift: opens a snapshot, reads its header, one page and its first
// block, unpacks that and sums its bytes. It checks nothing and knows no names, ids or values.
//
//     swiftc -O -static-stdlib -I Sources/CLZ4 Benchmarks/peers/first-read.swift -llz4 -o first-read
//     ./first-read DIRECTORY/p-default/snap/*.snap

/// Kilobytes in memory at the highest point.
func peak() -> Int {
  guard let file = fopen("/proc/self/status", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while fgets(&line, 256, file) != nil {
    if strncmp(line, "VmHWM:", 6) == 0 {
      return line.withUnsafeBufferPointer { Int(atoi($0.baseAddress! + 6)) }
    }
  }
  return 0
}

func faults() -> Int {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return usage.ru_minflt
}

func now() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

func read(_ file: Int32, at offset: Int, _ count: Int) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: count) {
    $1 = max(0, pread(file, $0.baseAddress, count, offset))
  }
}

func number(_ bytes: [UInt8], _ offset: Int) -> Int {
  (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
}

func firstBlock(_ path: String) -> Int {
  let file = open(path, O_RDONLY)
  let header = read(file, at: 0, 128)
  let page = read(file, at: 4096, 4096)
  let head = read(file, at: header.count, 16)
  let packed = read(file, at: header.count + 16, number(head, 4))
  let raw = [UInt8](unsafeUninitializedCapacity: number(head, 0)) { room, count in
    count = packed.withUnsafeBytes {
      Int(
        LZ4_decompress_safe(
          $0.baseAddress!.assumingMemoryBound(to: CChar.self),
          UnsafeMutableRawPointer(room.baseAddress!).assumingMemoryBound(to: CChar.self),
          Int32($0.count), Int32(room.count)))
    }
  }
  close(file)
  return raw.reduce(Int(page[8])) { $0 + Int($1) }
}

// Both calls of each meter come after one that brings its own code into memory.
_ = (peak(), faults(), now())
let (peakBefore, faultsBefore, start) = (peak(), faults(), now())
let sum = firstBlock(CommandLine.arguments[1])
let (end, faultsAfter, peakAfter) = (now(), faults(), peak())
print("us", Double(end - start) / 1000, "faults", faultsAfter - faultsBefore)
print("KB", peakAfter - peakBefore, "of", peakAfter, "sum", sum)
