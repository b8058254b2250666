import TestSupport
import Testing

/// The example about attachments, run.
@Suite struct PhotosExampleTests {
  @Test func `the example prints where the contents are`() throws {
    let outcome = try Tool.run([], program: "PhotosExample")
    #expect(outcome.status == 0, "\(outcome)")
    #expect(
      outcome.output == """
        Published 4 contents, then the records that name them.

        On the tablet:
        The gate, thumbnail: 2000 bytes, here
        The gate, picture: 2400000 bytes, remote
        The shed, thumbnail: 2000 bytes, here
        The shed, picture: 2400000 bytes, remote

        After a look at the shed:
        The gate, thumbnail: 2000 bytes, here
        The gate, picture: 2400000 bytes, remote
        The shed, thumbnail: 2000 bytes, here
        The shed, picture: 2400000 bytes, here

        The gate is deleted: 2 contents left the folder.

        """)
  }
}
