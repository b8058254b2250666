import CairnDisk
import CairnLog
import CairnStore
import Testing

@testable import Cairn

/// What goes wrong below comes out with a code of its own, and with its place.
@Suite struct ErrorTranslationTests {
  private static let disk: [(DiskError.Reason, CairnError.Code)] = [
    (.notFound, .notFound), (.exists, .exists), (.noSpace, .diskSpace), (.readOnly, .readOnly),
    (.denied, .readOnly), (.withheld, .retryLater), (.locked, .alreadyOpen),
    (.exposed, .disallowed),
    (.notRegular, .fileIO), (.tooManyOpen, .system), (.io(errno: 5), .fileIO),
    // ENOMEM and EFBIG.
    (.io(errno: 12), .memory), (.io(errno: 27), .diskSpace),
  ]

  private static let log: [(LogError.Reason, CairnError.Code)] = [
    (.corrupt, .corrupt), (.truncated, .corrupt), (.foreign, .corrupt), (.limit, .corrupt),
    (.missing, .corrupt), (.needsNewerVersion(9), .needsNewerVersion), (.poisoned, .syncFailed),
  ]

  private static let store: [(StoreError.Kind, CairnError.Code)] = [
    (.closed, .closed), (.shutdown, .shutdown), (.sizeLimit, .sizeLimit), (.badType, .badType),
    (.badIndex, .badIndex), (.illegalArgument, .illegalArgument), (.notFound, .notFound),
    (.exists, .exists), (.deleted, .deleted), (.readOnly, .readOnly),
    (.alreadyOpen, .alreadyOpen), (.invalidOperation, .invalidOperation),
    (.syncFailed, .syncFailed), (.disallowed, .disallowed),
  ]

  @Test func `each reason has its code, and no place gets lost`() {
    for (reason, code) in Self.disk {
      let below = DiskError(reason: reason, operation: "open", path: "/d/f", detail: "a detail")
      // Also through the layers in between.
      for error in [
        CairnError(below), CairnError(LogError(below)), CairnError(StoreError(LogError(below))),
      ] {
        #expect(error.code == code && error.file == "/d/f", "\(reason)")
        #expect(error.message.contains("\"/d/f\"") && error.message.contains("a detail"))
      }
    }
    for (reason, code) in Self.log {
      let below = LogError(reason, "/d/1.seg", at: 77, "what is wrong")
      for error in [CairnError(below), CairnError(StoreError(below))] {
        #expect(error.code == code && error.file == "/d/1.seg" && error.offset == 77, "\(reason)")
        #expect(error.message == "/d/1.seg at offset 77: what is wrong")
      }
    }
    for (kind, code) in Self.store {
      let error = CairnError(StoreError(kind, "what is wrong", id: "an id"))
      #expect(error.code == code && error.id == "an id" && error.message == "what is wrong")
      #expect(error.file == nil && error.offset == nil)
    }
    // A commit whose sync failed says so, and where.
    var failed = StoreError(.syncFailed, "open it again", id: nil)
    failed.log = LogError(.corrupt, "/d/2.seg", at: 5, "why")
    let error = CairnError(failed)
    #expect(error.code == .syncFailed && error.message == "open it again")
    #expect(error.file == "/d/2.seg" && error.offset == 5)
  }
}
