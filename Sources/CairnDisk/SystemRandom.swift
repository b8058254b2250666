/// The system's random numbers, fit for keys.
package struct SystemRandom: RandomSource {
  package init() {}

  package func next() -> UInt64 {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }
}
