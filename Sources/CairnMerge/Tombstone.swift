/// A delete of a record, kept for as long as concurrent content may still arrive.
package struct Tombstone: Hashable, Sendable {
  package var dot: Dot
  /// What the deleter had seen, this delete included.
  package var context: VersionVector

  package init(dot: Dot, context: VersionVector) {
    self.dot = dot
    self.context = context
  }

  /// Whether this delete kills content that was born so, unless the content's author had seen this
  /// delete: it does if the deleter knew every delete that the incarnation came after, that is, if
  /// it meant this incarnation or an older one.
  func coversBirth(of born: [Dot]) -> Bool {
    born.allSatisfy(context.contains)
  }
}
