/// What one delta does to one field.
package enum Write: Hashable, Sendable {
  /// Replaces what its author had seen; nil removes the field. `covered` is what the author had
  /// seen of additions, at most one for each device, sorted by device.
  case put(FieldValue?, covered: [RunningTotal])
  /// Adds to a number. `result` is what the author got, `total` all that the author's device has
  /// added in the run of additions that started with its delta `since`, this one included.
  case add(result: FieldValue, total: Number, since: UInt64)
  /// Begins a list where there was none. Lists that several devices begin at once are one list.
  case create([FieldValue], covered: [RunningTotal])
  /// Changes items of the list that its author saw.
  case edit(ListEdit)
}
