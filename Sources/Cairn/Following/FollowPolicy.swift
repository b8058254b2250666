internal import CairnMerge

/// What a follower keeps of somebody's datastore on this device.
public struct FollowPolicy: Sendable {
  /// Which tables are kept.
  @nonexhaustive
  public enum Tables: Hashable, Sendable {
    /// All of them, also those that come to be later.
    case all
    /// These, whether they are there yet or not.
    case only(Set<String>)
    /// All but these.
    case except(Set<String>)
  }

  /// Which tables are kept. What devices say of others is taken out before it is made visible: it
  /// does not count, and no query or index knows of it. It goes through the network all the same,
  /// since files of the folder hold changes of all tables; those that are damaged, or have a name
  /// that does not fit, stay in quarantine as they are.
  public var tables: Tables
  /// Which contents of attachments are fetched, and in which order. Only records that are kept are
  /// asked about.
  public var attachments: AttachmentPolicy

  /// A policy; without arguments everything is kept and fetched.
  public init(tables: Tables = .all, attachments: AttachmentPolicy = .always) {
    self.tables = tables
    self.attachments = attachments
  }
}

extension FollowPolicy.Tables {
  var choice: TableChoice {
    switch self {
    case .all: .all
    case .only(let names): .only(names)
    case .except(let names): .except(names)
    }
  }

  init(_ choice: TableChoice) {
    self =
      switch choice {
      case .all: .all
      case .only(let names): .only(names)
      case .except(let names): .except(names)
      }
  }

  /// Names that no table can have would be waited for in vain.
  func check() throws(CairnError) {
    let names: Set<String> =
      switch self {
      case .all: []
      case .only(let names), .except(let names): names
      }
    for name in names.sorted() where !Identifier.isValidTable(name) || Identifier.isReserved(name) {
      throw CairnError(
        .illegalArgument,
        "\"\(name)\" can't be a table's id, so it can't be chosen: 1 to 64 of the characters A-Z "
          + "a-z 0-9 - . _ + / =", id: name)
    }
  }
}
