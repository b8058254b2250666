import Cairn
import TestSupport
import Testing

/// Values and points in time, made of variables.
@Suite struct ValueTests {
  @Test func `variables become values of their type`() throws {
    let count = 7
    let small = UInt8(200)
    let wide = Int128(-3)
    let done = true
    let half = 0.5
    let whole = 2.0
    let name = "stone"
    let moment = Timestamp(millisecondsSince1970: 5)
    #expect(Value(count) == .int(7))
    #expect(Value(small) == .int(200))
    #expect(Value(wide) == .int(-3))
    #expect(Value(done) == .bool(true))
    #expect(Value(half) == .double(0.5))
    #expect(Value(whole) == .double(2))
    #expect(Value(name) == .string("stone"))
    #expect(Value(moment) == .date(moment))
    let directory = try TemporaryDirectory()
    let store = try DatastoreManager(root: directory.path).openDefaultDatastore()
    let record = try store.table("t").insert(["n": Value(count), "text": Value(name)])
    try record.set("n", Value(count + 1))
    #expect(try record.fields == ["n": 8, "text": "stone"])
    #expect(try record.double("n") == nil, "an integer is no double")
  }

  @Test func `integers that do not fit are nil, or end the process`() async {
    let largest = UInt64(Int64.max)
    #expect(Value(exactly: largest) == .int(.max))
    #expect(Value(exactly: largest + 1) == nil)
    #expect(Value(exactly: Int128(Int64.min)) == .int(.min))
    #expect(Value(exactly: Int128(Int64.min) - 1) == nil)
    #expect(Value(largest) == .int(.max))
    await #expect(processExitsWith: .failure) {
      let tooLarge = UInt64.max
      _ = Value(tooLarge)
    }
  }
}

@Suite struct TimestampTests {
  @Test func `seconds become milliseconds, to the nearest, and come back`() {
    #expect(Timestamp(secondsSince1970: 1.5).millisecondsSince1970 == 1500)
    #expect(Timestamp(secondsSince1970: 0.0004).millisecondsSince1970 == 0)
    #expect(Timestamp(secondsSince1970: 0.0006).millisecondsSince1970 == 1)
    #expect(Timestamp(secondsSince1970: -0.0006).millisecondsSince1970 == -1)
    let late = Timestamp(secondsSince1970: 1_700_000_000.123)
    #expect(late.millisecondsSince1970 == 1_700_000_000_123)
    for milliseconds: Int64 in [0, -1, 1_700_000_000_123, -62_135_596_800_000] {
      let stamp = Timestamp(millisecondsSince1970: milliseconds)
      #expect(Timestamp(secondsSince1970: stamp.secondsSince1970) == stamp)
    }
  }

  @Test func `seconds that are no time end the process`() async {
    await #expect(processExitsWith: .failure) {
      let seconds = Double.nan
      _ = Timestamp(secondsSince1970: seconds)
    }
    let first = Timestamp(secondsSince1970: -9_223_372_036_854_775.808)
    #expect(first.millisecondsSince1970 == .min)
    await #expect(processExitsWith: .failure) {
      let seconds = 9.3e15
      _ = Timestamp(secondsSince1970: seconds)
    }
  }

  @Test func `now is between before and after, and far from 1970`() {
    let first = Timestamp.now
    #expect(first > Timestamp(secondsSince1970: 1_700_000_000))
    #expect(abs(Timestamp.now.secondsSince1970 - first.secondsSince1970) < 3600)
  }
}
