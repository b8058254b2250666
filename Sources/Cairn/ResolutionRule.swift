internal import CairnMerge

/// How a field that was changed on several devices at once gets its value. Rules are part of the
/// data: they travel to all devices.
@nonexhaustive
public enum ResolutionRule: String, Hashable, Sendable, CaseIterable {
  /// The change that was committed first wins (the default).
  case remote
  /// The change that was committed last wins.
  case local
  /// The largest value wins.
  case max
  /// The smallest value wins.
  case min
  /// Additions and subtractions add up; what is no number goes by `remote`.
  case sum

  var stored: Rule {
    switch self {
    case .remote: .remote
    case .local: .local
    case .max: .max
    case .min: .min
    case .sum: .sum
    }
  }

  init(_ rule: Rule) {
    switch rule {
    case .remote: self = .remote
    case .local: self = .local
    case .max: self = .max
    case .min: self = .min
    case .sum: self = .sum
    }
  }
}
