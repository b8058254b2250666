/// What other devices may delete here at once without anybody being asked.
///
/// A device that lost its data, a program that went wrong, a folder that was mistaken for another
/// one: all of them look like somebody who deletes everything. Deletes beyond the limit are not
/// refused, but wait until somebody says that they are meant.
public struct MassDeleteLimit: Hashable, Sendable {
  /// So many records of a datastore may go in one `sync()`, however many there are. Default 50.
  public var records = 50
  /// Where there are more, so large a part of them may go, from 0 to 1. Default 0.2. It holds for
  /// the datastores of an account, too.
  public var share = 0.2
  /// So many datastores of an account may go in one `refresh()`. Default 5.
  public var datastores = 5

  /// The defaults.
  public init() {}

  /// How many of `count` records may go.
  func records(of count: Int) -> Int { max(records, part(count)) }
  /// How many of `count` datastores may go.
  func datastores(of count: Int) -> Int { max(datastores, part(count)) }

  private func part(_ count: Int) -> Int {
    // Not a number is no share at all.
    let part = share > 0 ? Double(count) * min(share, 1) : 0
    return Int(part.rounded(.down))
  }
}

/// Deletes of other devices that wait for consent, since there are too many of them at once.
///
/// Nothing of what these devices did since then is visible here; everything else is as always. If
/// it comes in a snapshot, what others did that is in there waits, too, until the next exchange has
/// fetched it by itself, or, if the folder has lost it elsewhere, for the same consent.
/// `Datastore.sync(allowingMassDelete: true)` takes it. Or wait: if it was a mistake and that
/// device inserts the records again, it is judged anew with that.
public struct MassDelete: Hashable, Sendable {
  /// One device's part.
  public struct Device: Hashable, Sendable {
    /// 16 hex digits.
    public var id: String
    /// The user that its device gave; empty if that is not known.
    public var user: String
    /// Records here that it deletes. What comes in a snapshot does not say who deleted it: all of
    /// it counts for each device of which the snapshot has more.
    public var records: Int

    package init(id: String, user: String, records: Int) {
      self.id = id
      self.user = user
      self.records = records
    }
  }

  /// The devices whose changes wait, those with the most deletes first.
  public var devices: [Device]
  /// Records that would be gone.
  public var records: Int
  /// Records that are here, at the time when that was counted.
  public var recordsHere: Int
  /// The devices delete that together, or any one of them.
  var isTogether = false

  /// What happened and how to go on: for people.
  public var message: String {
    let names = devices.map { device in
      "device \(device.id)" + (device.user.isEmpty ? "" : " (\(device.user.onOneLine))")
    }
    let who =
      isTogether
      ? [names.joined(separator: " and ") + " together delete \(records)"]
      : zip(names, devices).map { "\($0) deletes \($1.records)" }
    return "\(who.joined(separator: " and ")) of the \(recordsHere) records that are here; what it "
      + "sent waits and nothing was deleted. If that is meant, allow it (cairn sync "
      + "--allow-mass-delete, or sync(allowingMassDelete: true)). If not, insert them again there: "
      + "it is judged anew then"
  }
}
