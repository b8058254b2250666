import CairnFuzzBytes

private let target = FuzzDriver.target(ByteTarget.self)

/// What libFuzzer calls with each input, for the targets of bytes and frames.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  unsafe FuzzDriver.run(bytes, count) { try target.run($0) }
}
