/// What one side of a join knows that matters to the other one's content.
struct JoinSide {
  var horizon: Horizon
  /// Its deletes that the other side has not seen.
  var news: [Tombstone]

  /// What stays of one kind of content, in no order: all that both sides hold, and of the rest what
  /// the other side neither has seen (it saw it covered or killed) nor deletes unseen.
  static func join<C: Content>(_ a: [C], _ aSide: JoinSide, _ b: [C], _ bSide: JoinSide) -> [C] {
    let aDots = Set(a.map(\.dot))
    let bDots = Set(b.map(\.dot))
    return a.filter { bDots.contains($0.dot) || !bSide.takesOut($0, of: aSide) }
      + b.filter { !aDots.contains($0.dot) && !aSide.takesOut($0, of: bSide) }
  }

  private func takesOut(_ content: some Content, of other: JoinSide) -> Bool {
    horizon.knows(content, of: other.horizon)
      || news.contains { $0.coversBirth(of: content.born) }
  }
}
