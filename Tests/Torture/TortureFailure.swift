/// Something does not hold; ends the programme with status 1.
struct TortureFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
