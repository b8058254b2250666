import Cairn

/// A round with the folder went on although something failed in it, and has said so, or not: it has
/// to be gone through again before what it did counts.
struct ToldFault: Error, CustomStringConvertible {
  var description: String
  /// Whether a part of what was fetched may show: the rest is fetched once more.
  var isPartial = false
}
