/// A root that holds what `cairn follow` brought.
enum FollowedRoot {
  static func isOne(_ root: String) -> Bool { Descriptor.exists(root + "/FOLLOWING") }
}
