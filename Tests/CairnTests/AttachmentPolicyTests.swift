import Testing

@testable import Cairn

/// Which of two answers of a policy counts.
@Suite struct AttachmentPolicyTests {
  typealias Fetch = AttachmentPolicy.Fetch

  @Test func `the more eager answer counts, whichever comes first`() {
    let table: [(Fetch, Fetch, Fetch)] = [
      (.always(priority: 5), .always(priority: 5), .always(priority: 5)),
      (.always(priority: 5), .always(priority: 2), .always(priority: 5)),
      (.always(priority: -3), .always(priority: -7), .always(priority: -3)),
      (.always(priority: -1), .onDemand, .always(priority: -1)),
      (.always(priority: -1), .never, .always(priority: -1)),
      (.onDemand, .onDemand, .onDemand), (.onDemand, .never, .onDemand),
      (.never, .never, .never),
    ]
    for (one, other, both) in table {
      #expect(one.merged(with: other) == both)
      #expect(other.merged(with: one) == both)
    }
  }
}
