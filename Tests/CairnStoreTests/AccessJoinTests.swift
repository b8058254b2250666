import CairnDisk
import CairnLog
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// A joined snapshot brings another state; who may write is worked out anew, and not forgotten.
struct AccessJoinTests {
  private func take(
    _ other: StoreDevice, into device: StoreDevice, isFirst: Bool = false
  ) throws {
    _ = try other.store.compact()
    let bytes = try #require(other.snapshotBytes())
    let path = device.store.temporarySnapshotPath()
    try device.disk.setBytes(path, bytes)
    if isFirst { return try device.store.adopt(snapshot: path) }
    #expect(try device.store.join(snapshot: path) != nil)
  }

  private func policy(_ user: String) -> AccessPolicy {
    AccessPolicy(record: RecordName(user), user: nil, organization: nil)
  }

  @Test func `a role that a snapshot gives or takes counts at once`() throws {
    let (owner, guest) = (try StoreDevice(1), try StoreDevice(2))
    try owner.store.limitAccess(policy("uowner"))
    try owner.store.claim()
    try owner.store.insert("r", ["n": 1])
    try owner.store.sync()
    try guest.store.limitAccess(policy("uguest"))
    try take(owner, into: guest, isFirst: true)
    #expect(guest.store.accessLevel == .none)
    #expect(refusal { try guest.store.insert("no") } != nil)
    try owner.store.setAccess(.editor, of: RecordName("uguest"))
    try owner.store.sync()
    try take(owner, into: guest)
    #expect(guest.store.accessLevel == .editor)
    try guest.store.insert("yes", ["n": 2])
    try guest.store.sync()
    try owner.store.setAccess(.viewer, of: RecordName("uguest"))
    try owner.store.sync()
    try take(owner, into: guest)
    #expect(guest.store.accessLevel == .viewer)
    #expect(refusal { try guest.store.insert("no") } != nil)
    #expect(try guest.store.get("yes") == ["n": 2] && guest.store.get("r") == ["n": 1])
  }

  @Test func `a list that can't be read just now leaves a role as it was`() throws {
    let owner = try StoreDevice(1)
    // One block alone is kept.
    let guest = try StoreDevice(2) { $0.cacheBytes = 0 }
    try owner.store.limitAccess(policy("uowner"))
    try owner.store.claim()
    try owner.store.sync()
    try owner.store.setAccess(.viewer, of: RecordName("uguest"))
    for number in 0..<100 { try owner.store.insert("r\(number)", ["n": 1]) }
    try owner.store.sync()
    try take(owner, into: guest, isFirst: true)
    try guest.store.limitAccess(policy("uguest"))
    #expect(guest.store.accessLevel == .viewer)
    // This one's block takes the place of the list's.
    #expect(try guest.store.get("r0") == ["n": 1])
    let next = guest.disk.reads + 1
    guest.disk.failAt(read: next, reason: .io(errno: 5), forever: true)
    let error = #expect(throws: StoreError.self) {
      try guest.store.limitAccess(policy("uguest"))
    }
    guest.disk.heal()
    #expect(error?.log?.path.contains("/snap/") == true)
    #expect(guest.store.accessLevel == .viewer)
    #expect(refusal { try guest.store.insert("no") } == .disallowed)
  }

  @Test func `what is followed is written to by nobody, whatever is joined`() throws {
    let other = try StoreDevice(1)
    let follower = try StoreDevice(2) { $0.followed = TableChoice.all }
    try other.store.insert("r", ["n": 1])
    try other.store.sync()
    try take(other, into: follower, isFirst: true)
    #expect(refusal { try follower.store.insert("no") } == .readOnly)
    try other.store.set("r", ["n": 2])
    try other.store.sync()
    try take(other, into: follower)
    #expect(try follower.store.get("r") == ["n": 2])
    #expect(refusal { try follower.store.insert("no") } == .readOnly)
    #expect(refusal { try follower.store.set("r", ["n": 3]) } == .readOnly)
    #expect(follower.store.vector[follower.id] == 0)
  }
}
