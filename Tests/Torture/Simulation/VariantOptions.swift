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

  /// Whether a run has shown that this was tried, beside the plain one of the same seed.
  var hasShown: @Sendable (_ it: VariantEffects, _ plain: VariantEffects) -> Bool

  private init(
    _ name: String, _ change: (inout VariantOptions) -> Void = { _ in },
    hasShown: @escaping @Sendable (VariantEffects, VariantEffects) -> Bool
  ) {
    self.name = name
    self.hasShown = hasShown
    options.compactsAutomatically = false
    options.tuning.compactsInline = true
    options.graceSeconds = 0
    change(&self)
  }

  static let all: [VariantOptions] = [
    VariantOptions("plain") { it, _ in
      it.commits > 0 && it.takenIn > 0 && it.commitsNotDurable == 0 && it.segments == 1
        && !it.hasSnapshot && it.lateDeliveries == 0 && it.queries > 0
    },
    VariantOptions("tiny segments", { $0.options.tuning.segmentBytes = 600 }) { it, _ in
      it.segments > 20
    },
    VariantOptions("one large segment", { $0.options.segmentBytes = 64 << 20 }) { it, _ in
      it.segments == 1
    },
    VariantOptions("compacted often", { $0.compactEvery = 150 }) { it, _ in
      it.compactions > 20 && it.hasSnapshot && it.snapshotFiles == it.compactions
    },
    VariantOptions(
      "compacts by itself",
      {
        $0.options.compactsAutomatically = true
        $0.options.tuning.compactFrom = 20_000
        $0.options.tuning.replayBytes = 4000
        $0.options.tuning.overlayBytes = 40_000
      }
    ) { it, _ in it.compactions == 0 && it.hasSnapshot },
    VariantOptions(
      "hashes that go to a file",
      {
        $0.compactEvery = 150
        $0.options.tuning.indexRecords = 20
      }
    ) { it, _ in it.snapshotFiles > it.compactions * 3 / 2 },
    VariantOptions("durable at times", { $0.options.durability = .periodic(seconds: 60) }) {
      it, _ in it.commitsNotDurable > 0
    },
    VariantOptions("durable when the system likes", { $0.options.durability = .none }) { it, _ in
      it.commitsNotDurable > 0
    },
    VariantOptions("reopened often", { $0.reopenEvery = 120 }) { it, _ in it.reopenings > 20 },
    VariantOptions("exchanged often", { $0.exchangeEvery = 25 }) { it, plain in
      it.exchanges > plain.exchanges * 4
    },
    VariantOptions("exchanged at the end only", { $0.exchangeEvery = 0 }) { it, _ in
      it.exchanges == 6 && it.takenIn > 0
    },
    VariantOptions(
      "no cache",
      {
        $0.options.cacheBytes = 0
        $0.compactEvery = 400
      }
    ) { it, plain in it.bytesRead > plain.bytesRead },
    VariantOptions(
      "indexes",
      {
        $0.hasIndexes = true
        $0.compactEvery = 500
      }
    ) { it, _ in it.queries > 0 },
    VariantOptions("mass deletes", { $0.scratchEvery = 900 }) { it, _ in it.scratchRecords > 500 },
    VariantOptions(
      "mass deletes of which nobody is asked, and no trash",
      {
        $0.scratchEvery = 900
        $0.options.massDeleteLimit = nil
        $0.options.trashDays = 0
        $0.options.trashBytes = 0
      }
    ) { it, _ in it.scratchRecords > 500 },
    VariantOptions("power cuts", { $0.crashEvery = 200 }) { it, _ in it.cuts > 20 },
    VariantOptions(
      "power cuts that take something",
      {
        $0.crashEvery = 200
        $0.compactEvery = 130
      }
    ) { it, _ in it.cutsThatTook > 0 },
    VariantOptions("each change a commit", { $0.commitEvery = 1 }) { it, plain in
      it.commits > plain.commits * 3
    },
    VariantOptions("few large commits", { $0.commitEvery = 150 }) { it, plain in
      it.commits * 3 < plain.commits
    },
    VariantOptions(
      "small files in the folder",
      {
        $0.options.tuning.packBytes = 500
        $0.options.tuning.packBytesMax = 600
        $0.options.tuning.smallFileBytes = 3000
        $0.exchangeEvery = 60
      }
    ) { it, plain in it.folderFiles > plain.folderFiles * 3 },
    VariantOptions(
      "merged files",
      {
        $0.options.tuning.smallFileBytes = 20_000
        $0.options.tuning.smallFileRun = 4
        $0.exchangeEvery = 60
      }
    ) { it, _ in it.mergedFiles > 0 },
    VariantOptions(
      "merged files that stay for a day",
      {
        $0.options.tuning.smallFileBytes = 20_000
        $0.options.graceSeconds = 86_400
        $0.exchangeEvery = 60
      }
    ) { it, plain in it.mergedFiles > 0 && it.folderFiles > plain.folderFiles },
    VariantOptions(
      "a newcomer with a snapshot",
      {
        $0.options.tuning.smallFileBytes = 4000
        $0.compactEvery = 700
        $0.asksNewcomer = true
      }
    ) { it, _ in it.newcomerTookSnapshot },
    VariantOptions(
      "a late folder",
      {
        $0.isLate = true
        $0.exchangeEvery = 60
      }
    ) { it, _ in it.lateDeliveries > 0 },
    VariantOptions("a local datastore", { $0.isLocal = true }) { it, _ in
      it.exchanges == 0 && it.commits > 0
    },
    VariantOptions(
      "a local datastore, compacted and reopened",
      {
        $0.isLocal = true
        $0.compactEvery = 300
        $0.reopenEvery = 250
      }
    ) { it, _ in it.exchanges == 0 && it.compactions > 0 && it.reopenings > 0 },
  ]

  /// What makes no difference to what these operations do, or has no place here: limits are met in
  /// the simulation, contents of attachments have tests of their own, one thing happens at a time.
  private static let elsewhere: Set<String> = [
    "limits", "folderKinds", "pollSeconds", "attachments", "attachmentGraceSeconds", "tuning",
    "tuning.compactsInline", "tuning.blobRoundBytes", "tuning.blobQuietRounds",
    "tuning.blobCollectMilliseconds",
  ]

  /// Options of which all variants have the same, so that nobody compares what they do.
  static var neverVaried: [String] {
    var values: [String: Set<String>] = [:]
    for variant in all {
      for (name, value) in labels(variant.options) { values[name, default: []].insert(value) }
    }
    return values.filter { $0.value.count < 2 && !elsewhere.contains($0.key) }.keys.sorted()
  }

  private static func labels(_ options: Options) -> [(String, String)] {
    let own = Mirror(reflecting: options).children.map { ($0.label ?? "", "\($0.value)") }
    let tuning = Mirror(reflecting: options.tuning).children.map {
      ("tuning." + ($0.label ?? ""), "\($0.value)")
    }
    return own + tuning
  }
}
