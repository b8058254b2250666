/// A root that holds what `cairn follow` brought.
enum FollowedRoot {
  static func isOne(_ root: String) -> Bool { Descriptor.exists(root + "/FOLLOWING") }

  /// Throws if it is one, for commands that have nothing to do there.
  static func refuse(_ root: String) throws {
    guard isOne(root) else { return }
    throw ToolError(
      .failure, "readOnly",
      "somebody else's datastore is followed in \(root): cairn follow brings what is new there, "
        + "cairn unfollow removes it, and after that cairn follow FOLDER brings all of it anew, "
        + "should it be damaged. This command works on datastores that this device takes part in",
      file: root + "/FOLLOWING")
  }
}
