/// What a word means, and how often somebody looked it up.
struct Entry: Codable, Sendable {
  var meaning: String
  var lookups = 0
}
