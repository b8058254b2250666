internal import CairnDisk

/// Where letters may be large or small, two paths lead to one file. File systems in user space
/// (exfat-fuse, ciopfs) give it two inodes then, and a lock on one is none on the other: two
/// processes would write one datastore. So each file gets one path.
extension PathName {
  /// An absolute path with each name spelled as its directory has it, as far as that can be told.
  /// Where spelling matters it costs a look-up for each name, which finds nothing.
  static func spelled(_ absolute: String, disk: any Disk) -> String {
    var result = ""
    for part in absolute.split(separator: "/") {
      result += "/" + spelled(String(part), in: result, disk)
    }
    return result.isEmpty ? "/" : result
  }

  /// Whether what is there may go by its name in other letters, too. If not, neither does what is
  /// above it on the same file system, and one that is mounted further up gives it one inode.
  static func mayFold(_ absolute: String, disk: any Disk) -> Bool {
    guard let slash = absolute.lastIndex(of: "/"),
      let other = swapped(String(absolute[absolute.index(after: slash)...]))
    else { return true }
    let directory = String(absolute[..<slash])
    do throws(DiskError) { return try disk.info(directory + "/" + other) != nil } catch {
      return true
    }
  }

  private static func spelled(_ name: String, in directory: String, _ disk: any Disk) -> String {
    guard let other = swapped(name) else { return name }
    do throws(DiskError) {
      // What is not there yet gets the name that is given.
      guard try disk.info(directory + "/" + other) != nil,
        try disk.info(directory + "/" + name) != nil
      else { return name }
      // Also where only its normal form is another one.
      let folded = name.lowercased()
      let alike = try disk.list(
        directory.isEmpty ? "/" : directory, only: { $0.lowercased() == folded }
      ).map(\.name)
      if alike.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { return name }
      return alike.count == 1 ? alike[0] : name
    } catch {
      // Directories above may not be ours to look into.
      return name
    }
  }

  /// A name that is the same one only where spelling does not matter; nil if it has no letters.
  /// Letters beyond ASCII are not alike everywhere: they are left as they are if there are others.
  private static func swapped(_ name: String) -> String? {
    // Nearly all: each opening asks for some, and tables of letters are slow.
    if name.utf8.allSatisfy({ $0 < 0x80 }) {
      var bytes = Array(name.utf8)
      for index in bytes.indices {
        let small = bytes[index] | 0x20
        if small >= UInt8(ascii: "a"), small <= UInt8(ascii: "z") { bytes[index] ^= 0x20 }
      }
      return name.utf8.elementsEqual(bytes) ? nil : String(decoding: bytes, as: UTF8.self)
    }
    var (ascii, any) = (String.UnicodeScalarView(), String.UnicodeScalarView())
    for scalar in name.unicodeScalars {
      let properties = scalar.properties
      let mapping =
        properties.isUppercase ? properties.lowercaseMapping : properties.uppercaseMapping
      let mapped = mapping.unicodeScalars
      // One that becomes two is no single letter's other form.
      let other = mapped.count == 1 ? mapped.first ?? scalar : scalar
      ascii.append(scalar.isASCII ? other : scalar)
      any.append(other)
    }
    for swapped in [String(ascii), String(any)]
    where !swapped.unicodeScalars.elementsEqual(name.unicodeScalars) {
      return swapped
    }
    return nil
  }
}
