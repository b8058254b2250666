import Cairn

extension ToolError {
  init(_ error: CairnError) {
    let status: ExitStatus =
      switch error.code {
      case .notFound: .notFound
      case .alreadyOpen: .openElsewhere
      default: .failure
      }
    self.init(status, error.code.rawValue, error.message, file: error.file)
  }
}
