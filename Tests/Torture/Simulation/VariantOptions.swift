import Cairn

/// One way to do the same: what is changed must not change what comes out.
struct VariantOptions: Sendable {
  var name: String
  var options = Options()
  /// Operations between two commits, exchanges, compactions, reopenings, power cuts; 0 for never.
  var commitEvery = 9
  var exchangeEvery = 160
  var compactEvery = 0
  var reopenEvery = 0
  var crashEvery = 0
  /// Records that are made and deleted again meanwhile.
  var scratchEvery = 0
  var hasIndexes = false
  /// Everything is done in one datastore that stays on its device.
  var isLocal = false
  /// Each device has a view of the folder that is late.
  var isLate = false
  /// What is compared is what a device has that joins when all is done.
  var asksNewcomer = false

  private init(_ name: String, _ change: (inout VariantOptions) -> Void = { _ in }) {
    self.name = name
    options.compactsAutomatically = false
    options.tuning.compactsInline = true
    options.graceSeconds = 0
    change(&self)
  }

  static let all: [VariantOptions] = [
    VariantOptions("plain"),
    VariantOptions("tiny segments") { $0.options.tuning.segmentBytes = 600 },
    VariantOptions("one large segment") { $0.options.segmentBytes = 64 << 20 },
    VariantOptions("compacted often") { $0.compactEvery = 150 },
    VariantOptions("compacts by itself") {
      $0.options.compactsAutomatically = true
      $0.options.tuning.compactFrom = 20_000
      $0.options.tuning.replayBytes = 4000
    },
    VariantOptions("durable at times") { $0.options.durability = .periodic(seconds: 60) },
    VariantOptions("durable when the system likes") { $0.options.durability = .none },
    VariantOptions("reopened often") { $0.reopenEvery = 120 },
    VariantOptions("exchanged often") { $0.exchangeEvery = 25 },
    VariantOptions("exchanged at the end only") { $0.exchangeEvery = 0 },
    VariantOptions("no cache") {
      $0.options.cacheBytes = 0
      $0.compactEvery = 400
    },
    VariantOptions("indexes") {
      $0.hasIndexes = true
      $0.compactEvery = 500
    },
    VariantOptions("mass deletes") { $0.scratchEvery = 900 },
    VariantOptions("power cuts") { $0.crashEvery = 200 },
    VariantOptions("each change a commit") { $0.commitEvery = 1 },
    VariantOptions("few large commits") { $0.commitEvery = 150 },
    VariantOptions("small files in the folder") {
      $0.options.tuning.packBytes = 500
      $0.options.tuning.smallFileBytes = 3000
      $0.exchangeEvery = 60
    },
    VariantOptions("a newcomer with a snapshot") {
      $0.options.tuning.smallFileBytes = 4000
      $0.compactEvery = 700
      $0.asksNewcomer = true
    },
    VariantOptions("a late folder") {
      $0.isLate = true
      $0.exchangeEvery = 60
    },
    VariantOptions("a local datastore") { $0.isLocal = true },
    VariantOptions("a local datastore, compacted and reopened") {
      $0.isLocal = true
      $0.compactEvery = 300
      $0.reopenEvery = 250
    },
  ]
}
