/// Little-endian loads and 8-byte moves at a distance, without a check: whoever calls has made one.
/// They become part of their callers, so that they cost little without optimisation, too.
extension UnsafeRawPointer {
  @inline(__always)
  func u8(_ distance: Int) -> UInt8 { unsafe load(fromByteOffset: distance, as: UInt8.self) }

  @inline(__always)
  func u16(_ distance: Int) -> UInt16 {
    unsafe UInt16(littleEndian: loadUnaligned(fromByteOffset: distance, as: UInt16.self))
  }

  @inline(__always)
  func u32(_ distance: Int) -> UInt32 {
    unsafe UInt32(littleEndian: loadUnaligned(fromByteOffset: distance, as: UInt32.self))
  }

  @inline(__always)
  func u64(_ distance: Int) -> UInt64 {
    unsafe UInt64(littleEndian: loadUnaligned(fromByteOffset: distance, as: UInt64.self))
  }
}

extension UnsafeMutableRawPointer {
  @inline(__always)
  func put(_ value: UInt8, _ distance: Int) {
    unsafe storeBytes(of: value, toByteOffset: distance, as: UInt8.self)
  }

  @inline(__always)
  func put(_ value: UInt16, _ distance: Int) {
    unsafe storeBytes(of: value.littleEndian, toByteOffset: distance, as: UInt16.self)
  }

  @inline(__always)
  func put(_ value: UInt64, _ distance: Int) {
    unsafe storeBytes(of: value.littleEndian, toByteOffset: distance, as: UInt64.self)
  }
}
