import ArgumentParser

/// Everything that was published, delivered in every order.
struct Orders: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "orders",
    abstract: "Delivers what devices have published in every order, and compares snapshots.")

  @Option(help: "What everything random comes from.")
  var seed: UInt64 = 1

  @Option(help: "Go on with new cases until so many orders were delivered.")
  var orders = 50_000

  @ArgumentParser.Flag(help: "Five million.")
  var long = false

  func run() async throws {
    print("orders: seed \(seed)")
    var search = OrderSearch(Ledger("orders"), seed: seed)
    let goal = long ? max(orders, 5_000_000) : orders
    var number: UInt64 = 0
    while search.orders < goal {
      let packs = 2 + Int(number % 5)
      try search.permute(number, packs: packs, devices: 2 + Int(number / 5 % 3))
      try search.shuffle(
        number &+ 1 << 40, packs: 7 + Int(number % 20), devices: 2 + Int(number % 6), times: 60)
      number += 1
    }
    // Through the whole of an exchange, with files that arrive in every order.
    var arrivals = ArrivalSearch(search.ledger, seed: seed)
    try await arrivals.run(cases: long ? 500 : 8)
    var ledger = arrivals.ledger
    ledger.count("orders", search.orders)
    try ledger.close(rates: ["orders", "orders of arrival"])
  }
}
