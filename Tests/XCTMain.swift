import Testing

/// Runs the tests, which are all of swift-testing. With this file the package manager looks for no
/// others, for which it would want an index of every module: that costs minutes, and can't be had of
/// modules that are compiled as a whole.
@main
enum Main {
  static func main() async {
    // It asks for both kinds of tests, one after the other.
    guard CommandLine.arguments.contains("swift-testing") else {
      print(#"{"tests": []}"#)
      return
    }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
