extension CairnError {
  /// The error that a model's coding ended with, which may be the library's or the model's own.
  init(coding error: any Error, at place: FieldPlace) {
    if let known = CairnError.inside(error) {
      self = known
      return
    }
    var place = place
    switch error {
    case let error as DecodingError:
      guard let context = error.context else {
        self = place.error(.badType, "\(error)")
        return
      }
      place.field = context.codingPath.first?.stringValue
      self = place.error(.badType, context.debugDescription)
    case EncodingError.invalidValue(_, let context):
      place.field = context.codingPath.first?.stringValue
      self = place.error(.badType, context.debugDescription)
    default:
      self = place.error(.badType, "\(place.model) can't be coded: \(error)")
    }
  }

  /// The library's error, if that is what it is about.
  static func inside(_ error: any Error) -> CairnError? {
    if let error = error as? CairnError { return error }
    return (error as? DecodingError)?.context?.underlyingError as? CairnError
  }
}

extension DecodingError {
  fileprivate var context: Context? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context),
      .keyNotFound(_, let context), .dataCorrupted(let context):
      context
    @unknown default: nil
    }
  }
}
