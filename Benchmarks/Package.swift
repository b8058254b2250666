// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that an app that depends on Cairn never sees what this one needs.
let package = Package(
  name: "cairn-benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "cairn", path: ".."),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
  ],
  targets: [
    .target(name: "Workload"),
    .executableTarget(
      name: "cairn-bench",
      dependencies: [
        "Workload", .product(name: "Cairn", package: "cairn"),
        .product(name: "CairnCDB", package: "cairn"),
      ]),
    // Not in cairn-bench: the histogram brings Foundation, which would show in its memory figures.
    .executableTarget(
      name: "cairn-latency",
      dependencies: [
        "Workload", .product(name: "Cairn", package: "cairn"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ]),
    .executableTarget(
      name: "grdb", dependencies: ["Workload", .product(name: "GRDB", package: "GRDB.swift")]),
  ],
  swiftLanguageModes: [.v6]
)
