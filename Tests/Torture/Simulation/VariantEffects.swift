/// What a run has come to, besides its content: an option that changed nothing of it was not tried.
struct VariantEffects {
  /// Operations that were carried out.
  var operations = 0
  var commits = 0
  /// Of those that were looked at, how many a power cut could have taken.
  var commitsNotDurable = 0
  var takenIn = 0
  var exchanges = 0
  var mergedFiles = 0
  var compactions = 0
  /// Temporary files that were made where snapshots are.
  var snapshotFiles = 0
  var reopenings = 0
  /// Power cuts, and those of them that found something that was not durable.
  var cuts = 0
  var cutsThatTook = 0
  var scratchRecords = 0
  var queries = 0
  /// Deliveries that left something for later.
  var lateDeliveries = 0
  var newcomerTookSnapshot = false
  /// Of the first device in the end.
  var segments = 0
  var hasSnapshot = false
  var bytesRead = 0
  /// Files in the folder in the end.
  var folderFiles = 0
}
