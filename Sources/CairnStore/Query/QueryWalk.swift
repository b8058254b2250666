import CairnMerge

/// A walk over a query's result with nothing held between its steps but ids.
///
/// A result with an order, or one that an index finds quickly, is found at the first step, as ids;
/// any other goes through the table in the order of ids, some at a time.
package struct QueryWalk: Sendable {
  private let query: RecordQuery
  private var last: RecordName?
  private var step = Step.first
  private var size = 256

  private enum Step { case first, batches, ended }

  private static let sizeMax = 8192

  package init(_ query: RecordQuery) { self.query = query }

  package var hasEnded: Bool { step == .ended }

  mutating func advance(
    _ store: inout StoreState, _ number: Int
  ) throws(StoreError) -> [RecordName] {
    if step == .ended { return [] }
    if step == .first {
      let plan = try store.plan(number, query)
      if case .scan = plan.source, !query.isOrdered {
        step = .batches
      } else {
        let names = try store.run(number, query)
        step = .ended
        return names
      }
    }
    let names = try store.batch(number, query, after: last, count: size)
    if names.count < size { step = .ended }
    last = names.last ?? last
    size = min(size * 2, QueryWalk.sizeMax)
    return names
  }
}
