import CairnDisk
import CairnMerge
import CairnStore
import TestSupport
import Testing

/// Who may write goes by the list that is there after a store was put together anew.
struct RejoinAccessTests {
  private func policy(_ user: String) -> AccessPolicy {
    AccessPolicy(record: RecordName(user), user: nil, organization: nil)
  }

  /// Puts the store together from these packs, in a directory of that name.
  private func rejoin(
    _ device: StoreDevice, _ packs: [[UInt8]], _ common: CommonBranch, in name: String
  ) throws {
    let staged = try Store.open(
      StoreDevice.directory + "/" + name, datastore: StoreDevice.datastore, isLinked: true,
      options: device.options, machine: device.machine)
    try staged.sync(packs: packs)
    let plan = Rejoining(staged: staged, device: staged.device, common: common)
    #expect(try device.store.rejoin(plan) { _ in } != nil)
    try staged.close()
  }

  @Test func `a role that the folder gives or takes holds from the switch on`() throws {
    let (owner, guest) = (try StoreDevice(1, time: 1000), try StoreDevice(2, time: 2000))
    try guest.store.limitAccess(policy("uguest"))
    try guest.store.insert("r", ["n": 1])
    try guest.store.sync()
    let published = try guest.store.pack()
    try owner.store.sync(packs: [published])
    try owner.store.limitAccess(policy("uowner"))
    try owner.store.claim()
    try owner.store.sync()
    // A list without an owner binds nobody.
    #expect(guest.store.accessLevel == .owner)
    var common = CommonBranch(guest.id)
    try common.add(pack: published, through: 1)
    try rejoin(guest, [published, try owner.store.pack()], common, in: "rejoin")
    #expect(guest.store.accessLevel == .none)
    #expect(refusal { try guest.store.insert("no") } == .disallowed)
    #expect(refusal { try guest.store.set("r", ["n": 2]) } == .disallowed)
    try owner.store.setAccess(.editor, of: RecordName("uguest"))
    try owner.store.sync()
    // Under the name that it has now it has written nothing.
    let again = CommonBranch(guest.id)
    try rejoin(guest, [published, try owner.store.pack()], again, in: "again")
    #expect(guest.store.accessLevel == .editor)
    try guest.store.set("r", ["n": 2])
    try guest.store.sync()
    #expect(try guest.store.get("r") == ["n": 2])
  }
}
