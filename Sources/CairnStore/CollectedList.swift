import CairnMerge

/// What a commit has found to say about a list with pending edits: here until it is in the delta.
struct CollectedList {
  var hasChange = false
  var edit: ListEdit?
  var splices: ListSplices?
  /// The cell of the delta that says it.
  var cell: Int?
}
