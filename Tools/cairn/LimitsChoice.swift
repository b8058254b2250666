import ArgumentParser
import Cairn

/// `--limits`: the limits of the original API, or room for big imports.
enum LimitsChoice: String, ExpressibleByArgument, CaseIterable {
  case standard
  case large

  var limits: Limits {
    switch self {
    case .standard: Limits()
    case .large:
      Limits(
        recordBytes: 1 << 20, recordCount: 10_000_000, datastoreBytes: 16 << 30,
        deltaBytes: 32 << 20)
    }
  }
}
