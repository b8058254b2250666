import Cairn

extension ToolError {
  init(_ error: CairnError) {
    let status: ExitStatus =
      switch error.code {
      case .notFound: .notFound
      case .alreadyOpen: .openElsewhere
      default: .failure
      }
    self.init(
      status, error.code.rawValue, error.message + ToolError.advice(error.code), file: error.file)
  }

  /// How what an error asks for is given to this tool.
  private static func advice(_ code: CairnError.Code) -> String {
    switch code {
    case .auth:
      " (--credentials FILE, or CAIRN_USER and CAIRN_PASSWORD, CAIRN_TOKEN, or AWS_ACCESS_KEY_ID "
        + "and AWS_SECRET_ACCESS_KEY in the environment)"
    case .ssl: " (--certificates FILE)"
    default: ""
    }
  }
}
