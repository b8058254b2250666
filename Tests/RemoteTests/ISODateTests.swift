import CairnHTTP
import Testing

/// By these dates uploads that nobody has ended are told from those that are under way.
@Suite struct ISODateTests {
  @Test func `dates of lists in a bucket are read to the second`() {
    let dates: [(String, Int64)] = [
      ("1970-01-01T00:00:00.000Z", 0), ("2013-05-24T00:00:00.000Z", 1_369_353_600_000),
      ("2024-02-29T12:01:01.999Z", 1_709_208_061_000), ("2024-02-29T12:01:01Z", 1_709_208_061_000),
      ("2024-12-31T23:59:59Z", 1_735_689_599_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
    ]
    for (text, time) in dates { #expect(HTTPDate.parseISO(text) == time, "\(text)") }
  }

  @Test func `anything else is no date`() {
    for bad in [
      "", "T", "Z", "yesterday", "2013-05-24", "2013-05-24T00:00:00", "2013-05-24 00:00:00Z",
      "2013-05-24T00:00:00+02:00", "2013-05T00:00:00Z", "2013-00-24T00:00:00Z",
      "2013-13-24T00:00:00Z", "2013-05-00T00:00:00Z", "2013-05-32T00:00:00Z",
      "2013-05-24T24:00:00Z", "2013-05-24T00:60:00Z", "2013-05-24T00:00:61Z",
      "1969-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "2013-05-24T00:00Z",
      "2013-05-24T00:00:00ZT00:00:00Z", "99999999999999999999-01-01T00:00:00Z",
    ] {
      #expect(HTTPDate.parseISO(bad) == nil, "\(bad)")
    }
  }
}
