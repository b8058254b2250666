import CairnDisk
import TestSupport
import Testing

@testable import Cairn

/// What is remembered of a folder's listings.
@Suite struct KnownListingTests {
  private func known(_ count: Int) -> KnownListings.Known {
    let info = FileInfo(kind: .file, size: 1, modified: 0, inode: 1)
    let names = (0..<count).map { "\($0)" }
    return KnownListings.Known(
      DirectoryListing(names.map { DirectoryEntry(name: $0, info: info) }),
      names.map { FolderEntry(name: $0, size: 1, version: "1") })
  }

  /// A folder may have any number of files, and directories of contents are long.
  @Test func `a listing of more than 4096 files is not kept, nor the one before it`() {
    let listings = KnownListings()
    listings["d"] = known(4096)
    #expect(listings["d"]?.entries.count == 4096 && listings["e"] == nil)
    listings["d"] = known(4097)
    #expect(listings["d"] == nil)
    listings["d"] = known(2)
    #expect(listings["d"]?.entries.count == 2)
    listings["d"] = nil
    #expect(listings["d"] == nil)
  }

  @Test func `a brief look counts for the listing that it was at, and a whole one ends the count`()
    throws
  {
    let listings = KnownListings()
    listings["d"] = known(1)
    for count in 1...3 {
      listings.confirm("d", try #require(listings["d"]), isBrief: true)
      #expect(listings["d"]?.briefLooks == count)
    }
    listings.confirm("d", try #require(listings["d"]), isBrief: false)
    #expect(listings["d"]?.briefLooks == 0)
    // Somebody has found another one meanwhile.
    let old = try #require(listings["d"])
    listings["d"] = known(1)
    listings.confirm("d", old, isBrief: true)
    #expect(listings["d"]?.briefLooks == 0)
    listings["d"] = nil
    listings.confirm("d", old, isBrief: true)
    #expect(listings["d"] == nil)
  }
}
