import CairnFuzzBytes
import CairnFuzzStore

private let target = FuzzDriver.target(StoreTarget.self)

/// What libFuzzer calls with each input, for the targets of a store.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  unsafe FuzzDriver.run(bytes, count) { try target.run($0) }
}
