// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .strictMemorySafety(),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// CAIRN_OPTIMISED=1 optimises what is tested in debug builds, too, assertions and all: what goes
/// through every step of something takes a fifth of the time.
let optimised: [SwiftSetting] =
  Context.environment["CAIRN_OPTIMISED"] == nil
  ? [] : [.unsafeFlags(["-O", "-assert-config", "Debug"])]

func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, exclude: pages[name] ?? [],
    resources: name == "Cairn" ? privacy : [], swiftSettings: settings + optimised)
}

/// What Apple wants to know of a library that an app contains. A bundle of resources would bring
/// Foundation elsewhere.
#if os(Linux)
  let privacy: [Resource] = []
#else
  let privacy: [Resource] = [.copy("PrivacyInfo.xcprivacy")]
#endif

/// Pages that live beside the code they explain.
let pages = [
  "Cairn": privacy.isEmpty ? ["PrivacyInfo.xcprivacy"] : [],
  "CairnCDB": ["CDB.md"],
  "CairnLog": ["FORMAT.md"],
  "CairnMerge": ["MERGE.md"],
]

/// CAIRN_CONCURRENT_ONLY=1 leaves only the library and its concurrent tests, which lie in folders
/// of their own: the thread sanitizer wants a build for itself.
let concurrentOnly = Context.environment["CAIRN_CONCURRENT_ONLY"] != nil

func tests(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
  concurrent: [String] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestSupport"], exclude: exclude,
    sources: concurrentOnly ? concurrent : nil, swiftSettings: settings)
}

/// libFuzzer brings a `main` of its own, so its driver is built only where that is asked for.
let fuzzing: [Target] =
  Context.environment["CAIRN_FUZZ"] == nil
  ? []
  : [
    .executableTarget(
      name: "CairnFuzz", dependencies: ["CairnFuzzEntries", "CairnFuzzBytes"],
      path: "Tests/Fuzz/Drivers/All", swiftSettings: settings),
    // With less of Cairn in them, as libFuzzer goes through all counters after every input.
    .executableTarget(
      name: "CairnFuzzStoreDriver", dependencies: ["CairnFuzzStore", "CairnFuzzBytes"],
      path: "Tests/Fuzz/Drivers/Store", swiftSettings: settings),
    .executableTarget(
      name: "CairnFuzzBytesDriver", dependencies: ["CairnFuzzBytes"],
      path: "Tests/Fuzz/Drivers/Bytes", swiftSettings: settings),
  ]

/// CAIRN_CORE_ONLY=1 leaves out everything that needs a network library: folders on servers, their
/// tests, and the packages that they stand on, which take minutes to build.
let hasServers = Context.environment["CAIRN_CORE_ONLY"] == nil && !concurrentOnly

let asyncHTTPClient = Target.Dependency.product(
  name: "AsyncHTTPClient", package: "async-http-client")

let serverProducts: [Product] =
  hasServers
  ? [
    .library(name: "CairnWebDAV", targets: ["CairnWebDAV"]),
    .library(name: "CairnS3", targets: ["CairnS3"]),
    .library(name: "CairnCouchDB", targets: ["CairnCouchDB"]),
  ] : []

let serverPackages: [Package.Dependency] =
  hasServers
  ? [
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
  ] : []

let serverTargets: [Target] =
  hasServers
  ? [
    module(
      "CairnHTTP",
      [
        "Cairn", "CairnDisk", "CairnLog", asyncHTTPClient,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
    module("CairnWebDAV", ["Cairn", "CairnHTTP", "CairnDisk", "CairnLog"]),
    module(
      "CairnS3",
      [
        "Cairn", "CairnHTTP", "CairnDisk", "CairnLog",
        .product(name: "Crypto", package: "swift-crypto"),
      ]),
    module(
      "CairnCouchDB",
      [
        "Cairn", "CairnHTTP", "CairnDisk", "CairnLog",
        .product(name: "Crypto", package: "swift-crypto"),
      ]),
    .executableTarget(
      name: "FollowExample", dependencies: ["Cairn", "CairnCouchDB"],
      path: "Tools/Examples/Follow", swiftSettings: settings),
    .target(
      name: "TestServers", dependencies: ["CairnDisk"], path: "Tests/Servers",
      swiftSettings: settings),
    tests(
      "RemoteTests",
      [
        "Cairn", "CairnHTTP", "CairnWebDAV", "CairnS3", "CairnDisk", "CairnLog", "CairnStore",
        "CairnBytes", "TestServers",
      ]),
    tests(
      "CouchDBTests",
      [
        "Cairn", "CairnCouchDB", "CairnHTTP", "CairnDisk", "TestServers",
        .product(name: "Crypto", package: "swift-crypto"),
      ]),
  ] : []

/// What the command line links only if servers are there.
let toolServers: [Target.Dependency] =
  hasServers ? ["CairnWebDAV", "CairnS3", "CairnCouchDB"] : []
let toolSettings: [SwiftSetting] = hasServers ? [.define("CAIRN_SERVERS")] : []

/// The system's libraries that CairnBytes calls. Apple's systems have none: there, and with
/// CAIRN_PORTABLE=1, it does the same in Swift (Sources/CairnBytes/Portable).
#if os(Linux)
  let hasCLibraries = Context.environment["CAIRN_PORTABLE"] == nil
#else
  let hasCLibraries = false
#endif
let cLibraries: [Target] =
  hasCLibraries
  ? [
    .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
    .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
  ] : []

/// The library and its tests that are concurrent, among others.
let coreTargets: [Target] = [
  module("CairnBytes", cLibraries.map { .target(name: $0.name) }),
  module("CairnDisk", []),
  module("CairnLog", ["CairnBytes", "CairnDisk"]),
  module("CairnMerge", ["CairnBytes"]),
  module("CairnStore", ["CairnBytes", "CairnDisk", "CairnLog", "CairnMerge"]),
  module("Cairn", ["CairnBytes", "CairnDisk", "CairnLog", "CairnMerge", "CairnStore"]),
  module("CairnCDB", ["Cairn", "CairnBytes", "CairnDisk"]),
  .target(
    name: "TestSupport", dependencies: ["CairnBytes", "CairnDisk", "CairnMerge"],
    path: "Tests/Support", swiftSettings: settings + optimised),
  tests(
    "CairnStoreTests", ["CairnStore", "CairnLog", "CairnMerge", "CairnDisk", "CairnBytes"],
    concurrent: ["Concurrency", "Support"]),
  tests(
    "CairnTests", ["Cairn", "CairnStore", "CairnLog", "CairnMerge", "CairnDisk", "CairnBytes"],
    concurrent: ["Concurrency", "Support"]),
  tests(
    "CairnCDBTests", ["CairnCDB", "Cairn", "CairnDisk", "CairnBytes"], exclude: ["Golden"],
    concurrent: ["Concurrency", "Support"]),
]

/// What stands on it: tools, examples, programmes that try to break it, and the other tests.
let otherTargets: [Target] = [
  .target(
    name: "CairnToolText", dependencies: ["Cairn"], path: "Tools/text", swiftSettings: settings),
  .executableTarget(
    name: "CairnTool",
    dependencies: [
      "Cairn", "CairnCDB", "CairnToolText",
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
    ] + toolServers, path: "Tools/cairn", swiftSettings: settings + toolSettings),
  .executableTarget(
    name: "TodoExample", dependencies: ["Cairn"], path: "Tools/Examples/Todo",
    swiftSettings: settings),
  .executableTarget(
    name: "GlossaryExample", dependencies: ["Cairn", "CairnCDB"],
    path: "Tools/Examples/Glossary", swiftSettings: settings),
  .executableTarget(
    name: "ObjectsExample", dependencies: ["Cairn"], path: "Tools/Examples/Objects",
    swiftSettings: settings),
  .executableTarget(
    name: "PhotosExample", dependencies: ["Cairn"], path: "Tools/Examples/Photos",
    swiftSettings: settings),
  .executableTarget(
    name: "SubscribeExample", dependencies: ["Cairn"], path: "Tools/Examples/Subscribe",
    swiftSettings: settings),
  .executableTarget(
    name: "CairnTorture",
    dependencies: [
      "Cairn", "CairnStore", "CairnLog", "CairnMerge", "CairnDisk", "CairnBytes", "TestSupport",
      "CairnFuzzEntries", "CairnFuzzStore",
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
    ], path: "Tests/Torture", exclude: ["Processes/Shim"], swiftSettings: settings + optimised),
  .target(
    name: "CairnFuzzEntries",
    dependencies: [
      "Cairn", "CairnCDB", "CairnStore", "CairnLog", "CairnMerge", "CairnDisk", "CairnBytes",
      "CairnToolText", "CairnFuzzStore", "CairnFuzzBytes", "TestSupport",
    ], path: "Tests/Fuzz/Entries", swiftSettings: settings + optimised),
  .target(
    name: "CairnFuzzStore",
    dependencies: [
      "CairnStore", "CairnLog", "CairnMerge", "CairnDisk", "CairnBytes", "CairnFuzzBytes",
      "TestSupport",
    ], path: "Tests/Fuzz/Store", swiftSettings: settings + optimised),
  .target(
    name: "CairnFuzzBytes", dependencies: ["CairnLog", "CairnBytes"], path: "Tests/Fuzz/Bytes",
    swiftSettings: settings + optimised),
  tests("CairnBytesTests", ["CairnBytes"]),
  tests("CairnDiskTests", ["CairnDisk"]),
  tests("CairnLogTests", ["CairnLog", "CairnBytes", "CairnDisk"], exclude: ["Golden"]),
  tests("CairnMergeTests", ["CairnMerge", "CairnBytes"], exclude: ["Traces"]),
  tests("ToolTests", ["Cairn", "CairnCDB", "CairnToolText"]),
  .testTarget(
    name: "FuzzTests", dependencies: ["CairnFuzzEntries", "TestSupport"],
    path: "Tests/Fuzz/Replay", swiftSettings: settings),
  tests("TidyTests", []),
]

/// What calls Linux by its name is not built elsewhere: a `swift test` there would end with that.
#if os(Linux)
  let unbuilt: Set<String> = []
#else
  let unbuilt: Set<String> = ["CairnTorture", "TestServers", "RemoteTests", "CouchDBTests"]
#endif

let toolProducts: [Product] = [.executable(name: "cairn", targets: ["CairnTool"])]
let toolPackages: [Package.Dependency] = [
  .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0")
]

let package = Package(
  name: "cairn",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Cairn", targets: ["Cairn"]),
    .library(name: "CairnCDB", targets: ["CairnCDB"]),
  ] + (concurrentOnly ? [] : toolProducts + serverProducts),
  dependencies: concurrentOnly ? [] : toolPackages + serverPackages,
  targets: (cLibraries + coreTargets
    + (concurrentOnly ? [] : otherTargets + fuzzing + serverTargets))
    .filter { !unbuilt.contains($0.name) },
  swiftLanguageModes: [.v6]
)
