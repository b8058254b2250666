import CairnDisk
import Synchronization
import TestSupport

/// Cases in piles, one for each kind, that are drawn from in turn: what is rare comes as early as
/// what is common, and which kinds a run meets does not depend on chance.
final class Deck<Card: Sendable>: Sendable {
  private let piles: Lock<[[Card]]>
  /// How many piles there are, those without a card included.
  let count: Int
  /// How many cards there are at the beginning.
  let cards: Int

  /// - Parameter cards: each with the name of its pile; piles come in the order of their names.
  init(_ cards: [(pile: String, card: Card)], _ random: SeededRandom) {
    var piles: [String: [Card]] = [:]
    for (name, card) in cards { piles[name, default: []].append(card) }
    let sorted = piles.sorted { $0.key < $1.key }.map { pile in
      var cards = pile.value
      for last in stride(from: cards.count - 1, to: 0, by: -1) {
        cards.swapAt(last, random.below(last + 1))
      }
      return cards
    }
    self.piles = Lock(sorted)
    count = sorted.count
    self.cards = cards.count
  }

  /// Whether all cards were drawn.
  var isEmpty: Bool { piles.withLock { $0.allSatisfy(\.isEmpty) } }

  /// A card of the pile whose turn it is, of the next if that is used up; nil if all are.
  func draw(_ turn: Int) -> Card? {
    piles.withLock { piles in
      for step in 0..<piles.count {
        if let card = piles[(turn + step) % piles.count].popLast() { return card }
      }
      return nil
    }
  }
}
